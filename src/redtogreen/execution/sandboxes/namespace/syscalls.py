"""The Linux calls Python does not offer, each as a function that raises OSError.

Used by single-threaded processes only: PyDLL keeps the interpreter lock, so that `clone` behaves like `os.fork`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would double the start of every process here
    from collections.abc import Callable
    from typing import Any, TypeVar

    Result = TypeVar("Result")

libc = ctypes.PyDLL(None, use_errno=True)

# mount(2)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
# clone(2)
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
# openat2(2)
RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 1, 2, 4, 8
RESOLVE_SAFE = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH
# prctl(2)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
SECCOMP_MODE_FILTER = 2
ADDR_NO_RANDOMIZE = 0x0040000

SIGCHLD, SIGKILL, SIGINT, SIGPIPE, SIGXFSZ = 17, 9, 2, 13, 25
_NUMBERS = {
    "x86_64": {"clone": 56, "pivot_root": 155, "capset": 126, "rt_sigaction": 13},
    "aarch64": {"clone": 220, "pivot_root": 41, "capset": 91, "rt_sigaction": 134},
}
MACHINE = os.uname().machine
_OPEN_TREE, _MOVE_MOUNT, _CLOSE_RANGE, _OPENAT2, _MOUNT_SETATTR = 428, 429, 436, 437, 442


class SetupFailure(Exception):
    """A step of building the sandbox failed: which one, and with which errno."""

    def __init__(self, step: str, error: OSError | str):
        super().__init__(step, error)
        self.step = step
        self.errno = error.errno if isinstance(error, OSError) else 0
        self.reason = error.strerror or str(error) if isinstance(error, OSError) else error


def step(name: str, function: Callable[..., Result], *arguments: Any) -> Result:
    """The function's result, or SetupFailure with the name of this step."""
    try:
        return function(*arguments)
    except OSError as error:
        raise SetupFailure(name, error) from error


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def _number(name: str) -> int:
    try:
        return _NUMBERS[MACHINE][name]
    except KeyError:
        raise OSError(errno.ENOSYS, f"processor {MACHINE} is not supported") from None


def _syscall(number: int, *arguments: int | bytes | ctypes.Array | None) -> int:
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return _checked(libc.syscall(ctypes.c_long(number), *words), f"system call {number}")


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    """Mount a file system, bind a directory, or change flags."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _checked(libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), f"mount on {target}")


def detach(target: str) -> None:
    """Unmount lazily: gone from the tree at once."""
    _checked(libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def set_mount_flags(target: str, *, device: bool = False, writable: bool = False) -> None:
    """mount_setattr(2) on a mount and all below it: nosuid always; read-only and nodev unless told otherwise."""
    attributes = 0x2 | (0 if device else 0x4) | (0 if writable else 0x1)
    data = struct.pack("QQQQ", attributes, 0, 0, 0)
    at_recursive, at_fdcwd = 0x8000, -100
    _syscall(_MOUNT_SETATTR, at_fdcwd, os.fsencode(target), at_recursive, data, len(data))


def open_tree(path: str) -> int:
    """A copy of the mounts at and below a path, attached nowhere: a descriptor that another namespace can attach."""
    at_fdcwd, clone_recursively = -100, 0x8001
    return _syscall(_OPEN_TREE, at_fdcwd, os.fsencode(path), clone_recursively | os.O_CLOEXEC)


def move_mount(tree: int, target: str) -> None:
    """Attach what `open_tree` returned."""
    at_fdcwd, from_empty_path = -100, 4
    _syscall(_MOVE_MOUNT, tree, b"", at_fdcwd, os.fsencode(target), from_empty_path)


def enter(namespace: int) -> None:
    """Move this process (for process namespaces: its future children) into a namespace opened below /proc/<pid>/ns."""
    _checked(libc.setns(namespace, 0), "setns")


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _checked(libc.unshare(flags), "unshare")


def clone(flags: int) -> int:
    """Like os.fork, with the child in new namespaces. Returns the child's pid here and 0 in the child."""
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = libc.syscall(ctypes.c_long(_number("clone")), ctypes.c_long(flags | SIGCHLD), None, None, None, None)
    number = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(number, os.strerror(number), "clone")
    return pid


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root of this mount namespace; the old root appears at `old`, which lies below `new`."""
    _syscall(_number("pivot_root"), os.fsencode(new), os.fsencode(old))


def prctl(option: int, *arguments: int) -> None:
    """prctl(2) with integer arguments."""
    words = [ctypes.c_ulong(word) for word in (*arguments, 0, 0, 0, 0)][:4]
    _checked(libc.prctl(option, *words), f"prctl {option}")


def drop_capabilities() -> None:
    """Empty the bounding, ambient, permitted, effective and inheritable sets of this process."""
    capability = 0
    while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:  # in a row: forty of them are half a millisecond
        capability += 1
    if ctypes.get_errno() != errno.EINVAL:  # the number behind the last one
        _checked(-1, f"drop capability {capability}")
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    version_3 = struct.pack("Ii", 0x20080522, 0)
    _syscall(_number("capset"), version_3, bytes(24))


def map_user(inside: int, outside_uid: int, outside_gid: int) -> None:
    """Map one user and one group into the user namespace this process has just entered."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside} {outside_uid} 1"),
        ("gid_map", f"{inside} {outside_gid} 1"),
    ):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def open_beneath(directory: int, path: str | bytes, flags: int, mode: int = 0) -> int:
    """openat2(2) that follows no link and stays below `directory` on its file system."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, mode, RESOLVE_SAFE)
    return _syscall(_OPENAT2, directory, os.fsencode(path), how, len(how))


def close_from(first: int, *, on_exec: bool = False) -> None:
    """Close every descriptor from `first` on, now or at the next exec."""
    _syscall(_CLOSE_RANGE, first, 0xFFFFFFFF, 4 if on_exec else 0)


def children_descriptor() -> int:
    """Block SIGCHLD and return a signalfd that becomes readable when a child ends."""
    mask = _signal_mask(SIGCHLD)
    _checked(libc.sigprocmask(0, mask, None), "sigprocmask")
    return _checked(libc.signalfd(-1, mask, os.O_CLOEXEC | os.O_NONBLOCK), "signalfd")


def unblock_signals() -> None:
    """Deliver every signal again, as a command expects it."""
    _checked(libc.sigprocmask(2, _signal_mask(), None), "sigprocmask")


def default_signals(*numbers: int) -> None:
    """Undo what the interpreter changed. (Python's own signal module costs a third of a start to import.)"""
    libc.signal.restype = ctypes.c_void_p
    for number in numbers:
        libc.signal(number, None)


def ignore_children() -> None:
    """Let children that end vanish without being waited for."""
    libc.signal.restype = ctypes.c_void_p
    libc.signal(SIGCHLD, ctypes.c_void_p(1))


def default_every_signal() -> None:
    """Let no command inherit signals that the host ignores; raw, since the C library hides two of its own."""
    action = ctypes.create_string_buffer(32)  # the kernel's structure, all zero: default handler, no flags, no mask
    for number in range(1, 65):
        libc.syscall(_number("rt_sigaction"), number, action, None, 8)  # SIGKILL and SIGSTOP refuse, and need none


def _signal_mask(*numbers: int) -> ctypes.Array:
    bits = sum(1 << (number - 1) for number in numbers)
    return ctypes.create_string_buffer(struct.pack("Q", bits).ljust(128, b"\0"), 128)


def disable_address_randomisation() -> None:
    """Same addresses in every run: ids of objects, and so the order of sets, repeat."""
    _checked(libc.personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE)), "personality")


def loopback_up() -> None:
    """Bring up 127.0.0.1 in this network namespace."""
    af_inet, sock_dgram, siocsifflags, iff_up = 2, 2 | os.O_CLOEXEC, 0x8914, 1
    descriptor = _checked(libc.socket(af_inet, sock_dgram, 0), "socket")
    try:
        request = ctypes.create_string_buffer(struct.pack("16sH", b"lo", iff_up), 40)
        _checked(libc.ioctl(descriptor, ctypes.c_ulong(siocsifflags), request), "bring up lo")
    finally:
        os.close(descriptor)


def set_host_name(name: bytes) -> None:
    """sethostname(2) in this UTS namespace."""
    _checked(libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


def command_line() -> tuple[int, int]:
    """Where the memory lies that /proc/<pid>/cmdline shows of this process and of its forks: address, size."""
    with open("/proc/self/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    return start, max(0, end - start)


def show_as(name: bytes, place: tuple[int, int]) -> None:
    """Overwrite what `command_line` found: it names directories of the host."""
    start, size = place
    if start and size:
        ctypes.memset(start, 0, size)
        ctypes.memmove(start, name, min(len(name), size - 1))


def seal(descriptor: int) -> None:
    """Make a memory file unchangeable for everyone."""
    add_seals, all_seals = 1033, 0xF
    _checked(libc.fcntl(descriptor, add_seals, ctypes.c_long(all_seals)), "seal a memory file")
