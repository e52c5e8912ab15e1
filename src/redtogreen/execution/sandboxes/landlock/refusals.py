"""System calls refused beyond the common filter, since here the host's network and System V objects are in reach."""

from __future__ import annotations

import errno
import struct

from ..namespace import syscalls

# name -> (x86_64, aarch64), answer. Nothing else keeps a command from them: Landlock covers neither datagrams nor
# sockets that lie in the file system, and IPC objects would outlive the sandbox.
_REFUSED = {
    "socket": ((41, 198), errno.EAFNOSUPPORT),
    "shmget": ((29, 194), errno.ENOSYS),
    "semget": ((64, 190), errno.ENOSYS),
    "msgget": ((68, 186), errno.ENOSYS),
    "mq_open": ((240, 180), errno.ENOSYS),
}
_PRLIMIT = (302, 261)
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARGUMENT_0 = 0, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


def build_filter(machine: str = syscalls.MACHINE) -> bytes:
    """A program to install beside the common one, which judges the processor and everything else."""
    column = ("x86_64", "aarch64").index(machine)
    program = [(_LOAD, 0, 0, _NUMBER)]
    for numbers, answer in _REFUSED.values():
        program += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _REFUSE | answer)]
    program += [
        (_EQUAL, 0, 3, _PRLIMIT[column]),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_EQUAL, 1, 0, 0),  # its own limits; not those of others of the same user
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", code, if_true, if_false, value) for code, if_true, if_false, value in program)
