"""Landlock: what a process, and all it starts, may still do with files and sockets, whoever it is."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from ..namespace import syscalls

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
OLDEST = 2
"""The first version that lets files be moved between folders; older ones break ordinary programs."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHARACTER, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_TCP = 0b11  # bind, connect
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

READ = _EXECUTE | _READ_FILE | _READ_DIR
DEVICE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE
TERMINALS = DEVICE | _READ_DIR
WRITE = 0xFFFF & ~(_MAKE_CHARACTER | _MAKE_BLOCK)

Rule = tuple[int, int]
"""A descriptor of a file or folder (O_PATH will do), and what is allowed at and below it."""


def version() -> int:
    """Landlock's version here. Raises OSError where the kernel has none or has it switched off."""
    return _call(_CREATE, None, 0, _VERSION)


def handled(version: int) -> tuple[int, int, int]:
    """What a version can refuse: of files, of TCP, of what reaches outside otherwise."""
    files = {2: 14, 3: 15, 4: 15}.get(version, 16)
    return (1 << files) - 1, _TCP if version >= 4 else 0, _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0


def restrict(version: int, rules: list[Rule]) -> None:
    """Refuse this process for ever what no rule allows. Needs NO_NEW_PRIVS."""
    files, network, scopes = handled(version)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(_CREATE, struct.pack("QQQ", files, network, scopes), size, 0)
    for descriptor, access in rules:
        _call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", access & files, descriptor), 0)
    _call(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def rule(path: str, access: int) -> list[Rule]:
    """The rule for a path, or none where nothing is there."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        access &= _ON_FILES
    return [(descriptor, access)]


def readable(path: str, covered: list[str]) -> list[Rule]:
    """Rules for reading a folder without what is covered: Landlock can only allow, so it is what lies beside that."""
    path = os.path.realpath(path)
    if path in covered:
        return []
    if not any(other.startswith(f"{path}/") for other in covered):
        return rule(path, READ)
    rules = []
    for name in sorted(os.listdir(path)):
        below = f"{path}/{name}"
        if not os.path.islink(below):  # a rule follows links; what they lead to has its own
            rules += readable(below, covered)
    return rules


def _call(number: int, *arguments: int | bytes | None) -> int:
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = syscalls.libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), f"system call {number}")
    return result
