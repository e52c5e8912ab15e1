"""Level 1: gather what a sandbox may see, in a mount namespace of its own.

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
from .syscalls import MS_BIND, MS_NODEV, MS_NOSUID, MS_REC, step

STAGE = "/tmp"
LOWER, ROOM, WORK, ROOT = (f"{STAGE}/{name}" for name in ("lower", "room", "work", "root"))
_OWN_INODES = 16


def stage(plan: dict, trees: list[int]) -> None:
    """Follow the plan of `open_sandbox`; raises SetupFailure naming the step that failed. Without a lower tree (for a
    warm server) the workspace is an empty directory.

    trees: the lower tree and the mounts as `open_tree` descriptors of the host, closed here. Empty: the host is no
    root, so this process opens the same paths with the same rights.
    """
    step("create a mount namespace", syscalls.unshare, syscalls.CLONE_NEWNS)
    sources = [(source, mount_point(number)) for number, (source, _) in enumerate(plan["mounts"])]
    if plan["lower"]:
        sources.insert(0, (plan["lower"], LOWER))
    _gather(sources, trees)
    _make_room(plan["disk"], plan["inodes"])
    if plan["lower"]:
        layers = f"lowerdir={LOWER},upperdir={ROOM}/upper,workdir={ROOM}/work,userxattr"
        name = f"mount an overlay over {plan['lower']}"
        step(name, syscalls.mount, "overlay", WORK, "overlay", MS_NOSUID | MS_NODEV, layers)


def mount_point(number: int) -> str:
    """Where the mount with this number is staged."""
    return f"{STAGE}/{number}"


def _gather(sources: list[tuple[str, str]], trees: list[int]) -> None:
    opened = trees
    if not trees:  # before the stage covers what lies below /tmp
        opened = [step(f"open {source}", os.open, source, os.O_PATH | os.O_CLOEXEC) for source, _ in sources]
    step(f"mount a tmpfs on {STAGE}", _small_tmpfs, STAGE)
    for name in (ROOM, WORK, ROOT):
        os.mkdir(name)
    for descriptor, (source, target) in zip(opened, sources, strict=True):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
        if trees:
            step(f"attach {source}", syscalls.move_mount, descriptor, target)
        else:
            step(f"bind {source}", syscalls.mount, f"/proc/self/fd/{descriptor}", target, None, MS_BIND | MS_REC)
        os.close(descriptor)


def _small_tmpfs(target: str) -> None:
    syscalls.mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=1k,mode=0755")


def _make_room(disk: int, inodes: int) -> None:
    size = f"size={disk},nr_inodes={inodes + _OWN_INODES},mode=0755"
    step("mount the workspace's tmpfs", syscalls.mount, "tmpfs", ROOM, "tmpfs", MS_NOSUID | MS_NODEV, size)
    for name, mode in (("upper", 0o755), ("work", 0o755), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(f"{ROOM}/{name}")
        os.chmod(f"{ROOM}/{name}", mode)
