"""Level 2: the root directory a command sees. Runs in the sandbox's own namespaces, while it still has capabilities."""

from __future__ import annotations

import os

from . import staging, syscalls
from .syscalls import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT, SetupFailure

_OLD = "/.old"
_PARTS = next((folder for folder in ("/sys", "/mnt", "/media", "/srv") if os.path.isdir(folder)), "/sys")
_QUIET = MS_NOSUID | MS_NODEV
_SMALL = "size=1m,nr_inodes=1k,mode=0755"
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
CONFIGURATION = ("ld.so.cache", "alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
HIDDEN = ("kcore", "keys", "kmsg", "sysrq-trigger")
ETC = {
    "passwd": "root:x:0:0:root:/:/bin/false\nsandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def prepare() -> None:
    """Once, in the launcher: make the /etc and /dev that all its sandboxes show, read-only. Raises SetupFailure.

    They cover a folder of the host that no sandbox shows.
    """
    syscalls.step("mount a tmpfs for /etc and /dev", syscalls.mount, "tmpfs", _PARTS, "tmpfs", _QUIET, _SMALL)
    try:
        _make_etc(f"{_PARTS}/etc")
        _make_dev(f"{_PARTS}/dev")
        syscalls.mount(None, _PARTS, None, MS_REMOUNT | MS_BIND | MS_RDONLY | _QUIET)
    except OSError as error:
        raise SetupFailure("make /etc and /dev", error) from error


def _make_etc(folder: str) -> None:
    os.mkdir(folder)
    for name, text in ETC.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    for name in CONFIGURATION:
        if os.path.exists(f"/etc/{name}"):
            _read_only(f"/etc/{name}", f"{folder}/{name}")


def _make_dev(folder: str) -> None:
    for name in ("", "shm", "pts"):
        os.mkdir(f"{folder}/{name}")
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            _read_only(f"/dev/{name}", f"{folder}/{name}", device=True)
    for name, target in (
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):
        os.symlink(target, f"{folder}/{name}")


def build_root(plan: dict) -> int:
    """Build and enter the root. Returns a descriptor of a writable /proc that only init holds.

    Without a lower tree (for a warm server) there is no /proc, and the result is -1.
    """
    step = "make mounts private"
    try:
        syscalls.mount(None, "/", None, MS_REC | MS_PRIVATE)
        step = "enter a root of its own"
        syscalls.mount("tmpfs", staging.ROOT, "tmpfs", _QUIET, _SMALL)
        os.mkdir(staging.ROOT + _OLD)
        syscalls.pivot_root(staging.ROOT, staging.ROOT + _OLD)
        os.chdir("/")
        step = "show the system read-only"
        _system()
        step = "mount what is its own in /dev"
        _devices()
        step = "mount /proc"
        processes = _processes() if plan["lower"] else -1
        step = "show the workspace"
        for source, target in ((f"{staging.ROOM}/tmp", "/tmp"), (staging.WORK, "/work")):
            os.mkdir(target)
            syscalls.mount(_OLD + source, target, None, MS_BIND)
        for number, (_, target) in enumerate(plan["mounts"]):
            step = f"mount {target}"
            _read_only(_OLD + staging.mount_point(number), target)
        step = "leave the old root"
        syscalls.detach(_OLD)
        os.rmdir(_OLD)
        for path in plan["covered"]:
            step = f"cover {path}"
            _cover(path)
        step = "make the root read-only"
        syscalls.mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    except OSError as error:
        raise SetupFailure(step, error) from error
    return processes


def _system() -> None:
    for name in SYSTEM:
        original = f"{_OLD}/{name}"
        if os.path.islink(original):
            os.symlink(os.readlink(original), f"/{name}")
        elif os.path.isdir(original):
            _read_only(original, f"/{name}")
    for name in ("etc", "dev"):
        os.mkdir(f"/{name}")
        syscalls.mount(f"{_OLD}{_PARTS}/{name}", f"/{name}", None, MS_BIND | MS_REC)


def _devices() -> None:
    syscalls.mount(f"{_OLD}{staging.ROOM}/shm", "/dev/shm", None, MS_BIND)
    options = "newinstance,ptmxmode=0666,mode=0620,max=64"
    syscalls.mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options)


def _processes() -> int:
    os.mkdir("/proc")
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    syscalls.mount("proc", "/proc", "proc", flags)
    writable = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    syscalls.detach("/proc")
    # Read-only as a whole: /proc/sys reaches the host (core_pattern), and oom_score_adj would protect a process.
    syscalls.mount("proc", "/proc", "proc", flags | MS_RDONLY)
    for name in HIDDEN:
        if os.path.exists(f"/proc/{name}"):
            syscalls.mount("/dev/null", f"/proc/{name}", None, MS_BIND)
    return writable


def _read_only(source: str, target: str, *, device: bool = False) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
    syscalls.mount(source, target, None, MS_BIND | MS_REC)
    syscalls.set_mount_flags(target, device=device)


def _cover(path: str) -> None:
    if os.path.isdir(path):
        flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
        syscalls.mount("tmpfs", path, "tmpfs", flags, "size=4k,nr_inodes=2,mode=0555")
    elif os.path.exists(path):
        raise NotADirectoryError(20, "only directories can be covered", path)
