"""System calls that must be refused."""

from __future__ import annotations

from conformance import answer, needs

_CALLS = """
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
column = ("x86_64", "aarch64").index(platform.machine())
def call(numbers, *arguments):
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(numbers[column]), *words)
    return "allowed" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""


@needs("system_calls")
def check_namespaces_and_mounts_are_refused(boxes):
    with boxes() as box:
        facts = answer(
            box,
            _CALLS
            + """
def cloned(flags):
    result = libc.syscall(ctypes.c_long((56, 220)[column]), ctypes.c_long(flags | 17), None, None, None, None)
    if result == 0:
        os._exit(0)
    return "allowed" if result > 0 else errno.errorcode[ctypes.get_errno()]
say(unshare_user=call((272, 97), 0x10000000), unshare_net=call((272, 97), 0x40000000), setns=call((308, 268), 0, 0),
    clone_user=cloned(0x10000000), clone_pid=cloned(0x20000000), clone3=call((435, 435), None, 0),
    mount=call((165, 40), b"none", b"/tmp", b"tmpfs", 0, None), umount=call((166, 39), b"/tmp", 2),
    pivot_root=call((155, 41), b".", b"."), chroot=call((161, 51), b"/tmp"), open_tree=call((428, 428), -100, b"/", 1),
    fsopen=call((430, 430), b"tmpfs", 0), mount_setattr=call((442, 442), -100, b"/", 0, None, 0))
""",
        )
    assert facts.pop("clone3") == "ENOSYS"
    assert set(facts.values()) == {"EPERM"}, facts


@needs("system_calls")
def check_kernel_facilities_are_refused(boxes):
    with boxes() as box:
        facts = answer(
            box,
            _CALLS
            + """
say(ptrace=call((101, 117), 0, 0, None, None), keyctl=call((250, 219), 0, -3, 0),
    add_key=call((248, 217), b"user", b"x", b"y", 1, -3),
    io_uring=call((425, 425), 1, ctypes.create_string_buffer(200)), bpf=call((321, 280), 0, None, 0),
    perf=call((298, 241), None, 0, -1, -1, 0), userfaultfd=call((323, 282), 0),
    read_memory=call((310, 270), 1, None, 0, None, 0, 0), pidfd_getfd=call((438, 438), 0, 0, 0),
    handles=call((304, 265), 0, None, 0), module=call((313, 273), 0, b"", 0), reboot=call((169, 142), 0, 0, 0, None),
    clock=call((227, 112), 0, None), name=call((170, 161), b"x", 1), kernel_log=call((103, 116), 10, None, 0))
""",
        )
    assert set(facts.values()) == {"EPERM"}, facts


@needs("system_calls")
def check_foreign_socket_families_are_refused(boxes):
    with boxes() as box:
        facts = answer(
            box,
            _CALLS
            + """
families = {"unix": 1, "inet": 2, "inet6": 10, "packet": 17, "alg": 38, "vsock": 40, "bluetooth": 31, "can": 29}
kinds = {"unix": 1, "inet": 1, "inet6": 1, "vsock": 1}
answers = {name: call((41, 198), family, kinds.get(name, 3), 0) for name, family in families.items()}
say(**answers, route=call((41, 198), 16, 3, 0), audit=call((41, 198), 16, 3, 9), netfilter=call((41, 198), 16, 3, 12))
""",
        )
    assert {facts.pop(name) for name in ("unix", "inet", "inet6", "route")} == {"allowed"}
    assert {facts.pop(name) for name in ("audit", "netfilter")} == {"EPROTONOSUPPORT"}
    assert set(facts.values()) == {"EAFNOSUPPORT"}, facts


@needs("system_calls")
def check_terminal_input_cannot_be_injected(boxes):
    with boxes() as box:
        facts = answer(
            box,
            """
import errno, fcntl, pty
leader, follower = pty.openpty()
def control(request):
    try:
        fcntl.ioctl(follower, request, b"x")
        return "allowed"
    except OSError as error:
        return errno.errorcode[error.errno]
say(tiocsti=control(0x5412), tioclinux=control(0x541C), size=control(0x5413) != "EPERM")
""",
        )
    assert facts == {"tiocsti": "EPERM", "tioclinux": "EPERM", "size": True}
