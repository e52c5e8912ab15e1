"""Level 1: gather what the sandbox may see, in a mount namespace of our own, as an unprivileged user.

Afterwards /tmp of this process (a fresh tmpfs, invisible to the host) holds

    lower     the immutable tree                room/upper, room/work    the overlay's writable side
    0, 1, ..  the mounts                        room/tmp, room/shm       /tmp and /dev/shm of the sandbox
    work      the overlay                       root                     mount point of the sandbox's root

`room` is one tmpfs limited in bytes and inodes: everything a command can ever write lands there.
"""

from __future__ import annotations

import os
import stat

from . import syscalls
from .syscalls import MS_BIND, MS_NODEV, MS_NOSUID, MS_PRIVATE, MS_REC, SetupFailure

STAGE = "/tmp"
LOWER, ROOM, WORK, ROOT = (f"{STAGE}/{name}" for name in ("lower", "room", "work", "root"))
_OWN_INODES = 16


def stage(plan: dict) -> None:
    """Follow the plan of `open_sandbox`; raises SetupFailure naming the step that failed."""
    sources = [plan["lower"], *(source for source, _ in plan["mounts"])]
    if plan["user"] is not None:
        _step("create a mount namespace as root", syscalls.unshare, syscalls.CLONE_NEWNS)
        _gather(sources)
        _become(plan["user"])
    user, group = os.geteuid(), os.getegid()
    _step("create a user namespace", syscalls.unshare, syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
    _step("map a user into its namespace", syscalls.map_user, 0, user, group)
    if plan["user"] is None:
        _gather(sources)
    _make_room(plan["disk"], plan["inodes"], plan["lower"])


def mount_point(number: int) -> str:
    """Where the mount with this number is staged."""
    return f"{STAGE}/{number}"


def _gather(sources: list[str]) -> None:
    _step("make mounts private", syscalls.mount, None, "/", None, MS_REC | MS_PRIVATE)
    opened = []
    for source in sources:  # before the stage covers what lies below /tmp
        opened.append(_step(f"open {source}", os.open, source, os.O_PATH | os.O_CLOEXEC))
    _step(f"mount a tmpfs on {STAGE}", _small_tmpfs, STAGE)
    for name in (ROOM, WORK, ROOT):
        os.mkdir(name)
    for number, descriptor in enumerate(opened):
        target = LOWER if number == 0 else mount_point(number - 1)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
        bind = (f"/proc/self/fd/{descriptor}", target, None, MS_BIND | MS_REC)
        _step(f"bind {sources[number]}", syscalls.mount, *bind)
        os.close(descriptor)


def _small_tmpfs(target: str) -> None:
    syscalls.mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=1k,mode=0755")


def _become(user: int) -> None:
    _step("drop supplementary groups", os.setgroups, [])
    _step(f"become group {user}", os.setresgid, user, user, user)
    _step(f"become user {user}", os.setresuid, user, user, user)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # the id maps below /proc/self belong to root otherwise


def _make_room(disk: int, inodes: int, lower: str) -> None:
    size = f"size={disk},nr_inodes={inodes + _OWN_INODES},mode=0755"
    _step("mount the workspace's tmpfs", syscalls.mount, "tmpfs", ROOM, "tmpfs", MS_NOSUID | MS_NODEV, size)
    for name, mode in (("upper", 0o755), ("work", 0o755), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(f"{ROOM}/{name}")
        os.chmod(f"{ROOM}/{name}", mode)
    layers = f"lowerdir={LOWER},upperdir={ROOM}/upper,workdir={ROOM}/work,userxattr"
    _step(f"mount an overlay over {lower}", syscalls.mount, "overlay", WORK, "overlay", MS_NOSUID | MS_NODEV, layers)


def _step(name: str, function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        raise SetupFailure(name, error) from error
