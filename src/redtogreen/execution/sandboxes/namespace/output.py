"""The pipes of one command: what it writes is counted whole and kept at both ends."""

from __future__ import annotations

import os

from . import syscalls

FLOOD = 64 * 2**20
_READ = 1 << 16


class Kept:
    """First and last bytes of a stream, in bounded memory."""

    def __init__(self, limit: int):
        self.first, self.last = limit // 2, limit - limit // 2
        self.head, self.tail, self.size = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        space = self.first - len(self.head)
        if space > 0:
            self.head += data[:space]
            data = data[space:]
        self.tail += data
        if len(self.tail) > 2 * self.last + _READ:
            del self.tail[: -self.last]

    def ends(self) -> tuple[bytes, bytes, int]:
        return bytes(self.head), bytes(self.tail[-self.last :] if self.last else b""), self.size


class Pipes:
    """stdin as a sealed file in memory; stdout, stderr and perhaps the report as pipes."""

    def __init__(self, plan: dict, request: dict):
        self.streams = [Kept(plan["output"]), Kept(plan["output"])]
        self.report_limit = plan["report"]
        self.report = bytearray()
        self.report_size = 0
        self.inside = [_input(request["stdin"])]
        self.open: dict[int, int] = {}
        for number in range(3 if request["report"] else 2):
            outer, inner = os.pipe2(os.O_CLOEXEC)
            self.inside.append(inner)
            self.open[outer] = number

    @property
    def flooded(self) -> bool:
        return self.report_size > self.report_limit or any(stream.size > FLOOD for stream in self.streams)

    def close_inside(self) -> None:
        for descriptor in self.inside:
            os.close(descriptor)

    def read(self, descriptor: int) -> bool:
        """Take what is there; False at the end of the stream, whose descriptor is then closed."""
        data = os.read(descriptor, _READ)
        number = self.open[descriptor]
        if not data:
            del self.open[descriptor]
            os.close(descriptor)
            return False
        if number < 2:
            self.streams[number].add(data)
        else:
            self.report += data[: self.report_limit - len(self.report)]
            self.report_size += len(data)
        return True

    def drain(self) -> None:
        """Read every stream to its end."""
        for descriptor in list(self.open):
            while self.read(descriptor):
                pass

    def kept(self) -> tuple:
        return (*(stream.ends() for stream in self.streams), bytes(self.report))


def sealed(content: bytes) -> int:
    """A file in memory that nobody can change any more, open at its start."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    syscalls.seal(descriptor)
    return descriptor


def _input(content: bytes) -> int:
    if not content:
        return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    return sealed(content)
