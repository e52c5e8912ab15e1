"""The system calls a command may not make, as a classic BPF program built by hand.

Everything is allowed but what could reach the kernel's administrative side: mounts, namespaces, tracing, keys, BPF,
io_uring, modules, clocks. An answer of EPERM or ENOSYS lets honest programs fall back.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from . import syscalls

# name -> (x86_64, aarch64); None where the architecture has no such call
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # mounts and roots
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    # namespaces and names
    "unshare": (272, 97), "setns": (308, 268), "sethostname": (170, 161), "setdomainname": (171, 162),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "migrate_pages": (256, 238), "move_pages": (279, 239),
    # kernel facilities with a record of holes
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "memfd_secret": (447, 447),
    "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "modify_ldt": (154, None),
    # the machine
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "syslog": (103, 116), "vhangup": (153, 58), "iopl": (172, None),
    "ioperm": (173, None),
}  # fmt: skip
_CLONE, _CLONE3, _IOCTL, _SOCKET, _SOCKETPAIR = (56, 220), (435, 435), (16, 29), (41, 198), (53, 199)
_AUDIT_ARCH = (0xC000003E, 0xC00000B7)
_NEW_NAMESPACES = 0x7E020000
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = 0, 4, 16, 24, 32  # low words, little endian
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


def build_filter(machine: str = syscalls.MACHINE, allowed: tuple[str, ...] = ()) -> bytes:
    """The BPF program for a processor, without the rules for calls `allowed` by name. Raises OSError(ENOSYS) for a
    processor without a table."""
    if machine not in ("x86_64", "aarch64"):
        raise OSError(errno.ENOSYS, f"no table of system calls for processor {machine}")
    column = ("x86_64", "aarch64").index(machine)
    program: list[tuple[int, int, int, int]] = []

    def add(code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        program.append((code, if_true, if_false, value))

    def refuse(number: int) -> None:
        add(_RETURN, _REFUSE | number)

    add(_LOAD, _ARCH)
    add(_EQUAL, _AUDIT_ARCH[column], 1, 0)
    refuse(errno.ENOSYS)
    add(_LOAD, _NUMBER)
    if column == 0:
        add(_AT_LEAST, _X32, 0, 1)
        refuse(errno.ENOSYS)
    for name, numbers in _DENIED.items():
        number = numbers[column]
        if number is not None and name not in allowed:
            add(_EQUAL, number, 0, 1)
            refuse(errno.EPERM)
    add(_EQUAL, _CLONE3[column], 0, 1)
    refuse(errno.ENOSYS)  # its flags lie in memory a filter cannot read; the C library falls back to clone

    add(_EQUAL, _CLONE[column], 0, 4)
    add(_LOAD, _ARGUMENT_0)
    add(_ANY_BIT, _NEW_NAMESPACES, 0, 1)
    refuse(errno.EPERM)
    add(_RETURN, _ALLOW)

    add(_EQUAL, _IOCTL[column], 0, 5)
    add(_LOAD, _ARGUMENT_1)
    add(_EQUAL, _TERMINAL_INJECTION[0], 1, 0)
    add(_EQUAL, _TERMINAL_INJECTION[1], 0, 1)
    refuse(errno.EPERM)
    add(_RETURN, _ALLOW)

    add(_EQUAL, _SOCKET[column], 1, 0)
    add(_EQUAL, _SOCKETPAIR[column], 0, 8)
    add(_LOAD, _ARGUMENT_0)
    add(_EQUAL, _UNIX, 6, 0)
    add(_EQUAL, _INET, 5, 0)
    add(_EQUAL, _INET6, 4, 0)
    add(_EQUAL, _NETLINK, 1, 0)
    refuse(errno.EAFNOSUPPORT)
    add(_LOAD, _ARGUMENT_2)
    add(_EQUAL, 0, 0, 1)  # NETLINK_ROUTE: what the C library asks for interface addresses
    add(_RETURN, _ALLOW)
    refuse(errno.EPROTONOSUPPORT)
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


class Filter:
    """A program kept ready in memory, so that a forked child installs it with one call."""

    def __init__(self, program: bytes):
        self._code = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(self._code))
        self._header = ctypes.create_string_buffer(header, len(header))

    def install(self) -> None:
        """Bind this process and all its children for ever. Needs NO_NEW_PRIVS."""
        syscalls.prctl(syscalls.PR_SET_SECCOMP, syscalls.SECCOMP_MODE_FILTER, ctypes.addressof(self._header))
