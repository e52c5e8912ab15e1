"""Frames between host, worker and init: a length, then a marshalled value; file descriptors may travel along.

Only trusted code of one interpreter stands at either end, so the interpreter's own format will do; nothing a command
can write reaches a channel.
"""

from __future__ import annotations

import _socket  # the C half of `socket`: importing the rest would double the worker's start
import marshal
import struct

_HEADER = struct.Struct("=Q")
_CHUNK = 1 << 20


class Closed(Exception):
    """The other end is gone."""


class Channel:
    """One end of a stream socket."""

    def __init__(self, descriptor: int):
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=descriptor)
        self._socket.setblocking(True)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def hang_up(self) -> None:
        """End the conversation for every holder of this end, forked copies included."""
        try:  # noqa: SIM105 - contextlib would cost the worker 5 ms
            self._socket.shutdown(_socket.SHUT_RDWR)
        except OSError:
            pass  # the other end hung up first
        self._socket.close()

    def set_timeout(self, seconds: float | None) -> None:
        """Let `send` and `receive` raise TimeoutError after this long without progress."""
        self._socket.settimeout(seconds)

    def send(self, value: tuple, descriptors: tuple[int, ...] = ()) -> None:
        """Send one value. Raises Closed when nobody can receive it."""
        body = marshal.dumps(value)
        ancillary = []
        if descriptors:
            rights = struct.pack(f"={len(descriptors)}i", *descriptors)
            ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)]
        try:
            self._socket.sendmsg([_HEADER.pack(len(body))], ancillary, _socket.MSG_NOSIGNAL)
            self._socket.sendall(body, _socket.MSG_NOSIGNAL)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def receive(self) -> tuple[tuple, list[int]]:
        """The next value and the descriptors that came with it. Raises Closed at the end of the stream."""
        try:
            header, ancillary, _, _ = self._socket.recvmsg(_HEADER.size, 256, _socket.MSG_CMSG_CLOEXEC)
            descriptors: list[int] = []
            for _, kind, data in ancillary:
                if kind == _socket.SCM_RIGHTS:
                    descriptors += struct.unpack(f"={len(data) // 4}i", data)
            if len(header) < _HEADER.size:
                header += self._exactly(_HEADER.size - len(header))
            return marshal.loads(self._exactly(_HEADER.unpack(header)[0])), descriptors
        except ConnectionResetError as error:
            raise Closed from error

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            count = self._socket.recv_into(view[done:], min(_CHUNK, size - done))
            if count == 0:
                raise Closed
            done += count
        return data


def pair() -> tuple[Channel, Channel]:
    """Two connected ends, both closed on exec."""
    first, second = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    return Channel(first.detach()), Channel(second.detach())
