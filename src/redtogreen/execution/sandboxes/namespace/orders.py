"""What a sandbox's worker says to a warm server, and how."""

from __future__ import annotations

import _socket
import marshal
import os
import struct

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
"""In the order in which they are entered: the first gives the right to enter the others."""
CONTROL = 3
"""Descriptor of the server's end of the socket that takes orders."""
READY, OPENED_FILES = b"ready", b"loading opened files"
"""What a server says once, when its modules are loaded. It is foreign code that speaks: nothing else is understood."""
FORMAT = 2
"""Of marshal, the same in every interpreter."""


def order(server: int, request: dict, plan: dict, parts: tuple[list[int], ...]) -> None:
    """Ask a server to start a command. When it cannot, nobody arrives, which init notices.

    parts: descriptors of the sandbox's namespaces, of its control groups, of the command's streams, of the two pipes on
    which its arrival and its failure are announced, and of what the module `request["prepare"]` is to install, if any.
    """
    words = {
        "argv": request["argv"],
        "cwd": request["cwd"],
        "seconds": request["seconds"],
        "process_rlimit": plan["process_rlimit"],
        "cores": plan["cores"],
        "prepare": request["prepare"],
        "parts": [len(part) for part in parts],
    }
    paper = os.memfd_create("order", os.MFD_CLOEXEC)
    os.write(paper, marshal.dumps(words, FORMAT))
    os.lseek(paper, 0, os.SEEK_SET)
    descriptors = [paper, *(descriptor for part in parts for descriptor in part)]
    rights = struct.pack(f"={len(descriptors)}i", *descriptors)
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fileno=os.dup(server))
    try:
        # Always the same single byte: what a server reads itself must not shape its memory.
        control.sendmsg([b"\n"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)], _socket.MSG_NOSIGNAL)
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        control.close()
        os.close(paper)
