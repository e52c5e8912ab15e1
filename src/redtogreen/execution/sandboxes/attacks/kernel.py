"""Attacks on the kernel's administrative side: privileges, and system calls with a record of holes."""

from __future__ import annotations

from .attack import Attack, Control, Setting

_FILTER_OFF = Control("without the system call filter", Setting(without=("system_calls",)))

_ROOT = """
wanted = os.getuid() if given["inside"] else 0
open("/work/mine", "w").close()
answers = {
    "setuid": tried(os.setuid, wanted),
    "setgid": tried(os.setgid, os.getgid() if given["inside"] else 0),
    "chown": tried(os.chown, "/work/mine", wanted, -1),
}
held = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapBnd"))]
worked = "allowed" in answers.values() or any(int(mask, 16) for mask in held)
answers["capabilities"] = " ".join(sorted(set(held)))
tell(worked, ", ".join(f"{name} {answer}" for name, answer in answers.items()))
"""

_NODE = """
import stat
kind, device = (stat.S_IFIFO, 0) if given["inside"] else (stat.S_IFCHR, os.makedev(1, 1))
answers = [tried(os.mknod, folder + "/node", kind | 0o666, device) for folder in ("/work", "/tmp", "/dev/shm")]
tell("allowed" in answers, ", ".join(answers))
"""

_IO_URING = """
answer = call((425, 425), 1, ctypes.create_string_buffer(200))
tell(answer == "allowed", f"io_uring_setup {answer}")
"""

_KEYS = """
answers = [call((250, 219), 0, -3, 1), call((248, 217), b"user", b"redtogreen", b"x", 1, -2)]
tell("allowed" in answers, f"keyctl {answers[0]}, add_key {answers[1]}")
"""

_NAMESPACES = """
flags = {"user": 0x10000000, "network": 0x50000000, "pid": 0x30000000}
def in_child(flag):
    "In a child: a process stays in the namespace it has made."
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, call((272, 97), flag).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reader, 100).decode()
answers = {name: in_child(flag) for name, flag in flags.items()}
try:
    answers["setns"] = call((308, 268), os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)
except OSError as error:
    answers["setns"] = errno.errorcode[error.errno]
tell("allowed" in answers.values(), ", ".join(f"{name} {answer}" for name, answer in answers.items()))
"""

_MOUNTS = """
answers = {"unshare": call((272, 97), 0x10020000), "private": call((165, 40), None, b"/", None, 0x44000, None)}
target = b"/tmp" if answers["private"] == "allowed" else b"/work/absent"  # nothing is mounted where others could see it
answers["tmpfs"] = call((165, 40), b"none", target, b"tmpfs", 0, None)
answers["umount"] = call((166, 39), target, 2)
answers["chroot"] = call((161, 51), target)
tell("allowed" in answers.values(), ", ".join(f"{name} {answer}" for name, answer in answers.items()))
"""

_VSOCK = """
answers = {name: call((41, 198), family, kind, 0) for name, family, kind in (("vsock", 40, 1), ("alg", 38, 5))}
tell("allowed" in answers.values(), ", ".join(f"{name} {answer}" for name, answer in answers.items()))
"""

ATTACKS = (
    Attack(
        "becoming root",
        "privileges",
        "setuid(0), setgid(0), chown to root; capabilities held",
        "EPERM or EINVAL, no capability",
        _ROOT,
        Control("the same calls with its own ids", Setting(inside=True)),
    ),
    Attack(
        "mknod",
        "privileges",
        "a device of the host's memory in /work, /tmp and /dev/shm",
        "EPERM",
        _NODE,
        Control("the same call for a FIFO", Setting(inside=True)),
    ),
    Attack("io_uring", "system_calls", "io_uring_setup", "EPERM", _IO_URING, _FILTER_OFF),
    Attack("keyrings", "system_calls", "keyctl and add_key", "EPERM", _KEYS, _FILTER_OFF),
    Attack(
        "nested namespaces",
        "system_calls",
        "unshare of user, network and pid namespaces; setns into that of process 1",
        "EPERM",
        _NAMESPACES,
        _FILTER_OFF,
    ),
    Attack(
        "mounts",
        "system_calls",
        "a user namespace of its own, in it private mounts, a tmpfs, umount, chroot",
        "EPERM",
        _MOUNTS,
        _FILTER_OFF,
    ),
    Attack("vsock", "system_calls", "sockets of the families VSOCK and ALG", "EAFNOSUPPORT", _VSOCK, _FILTER_OFF),
)
