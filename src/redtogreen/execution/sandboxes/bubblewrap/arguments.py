"""The command line of bwrap: what a command sees, and who it is.

Everything a command can write lies in the room that the worker has staged (see ../namespace/staging.py).
"""

from __future__ import annotations

import os

from ..namespace import root_filesystem, staging, syscalls
from ..namespace.syscalls import SetupFailure

USER = 1000
ETC = f"{staging.ROOT}/etc"
# The shell turns "no such folder" and "no such program" into a status of the command, so that a bwrap that reports no
# status at all means one thing: the machine failed. (bwrap itself sets PWD.)
LAUNCH = 'cd -- "$1" || exit 127; shift; unset PWD OLDPWD; exec "$@"'


def write_etc() -> None:
    """Put the few files of /etc where `base` shows them from."""
    syscalls.mount("tmpfs", staging.ROOT, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "size=1m,nr_inodes=1k")
    os.mkdir(ETC)
    for name, text in root_filesystem.ETC.items():
        with open(f"{ETC}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def base(plan: dict) -> list[str]:
    """The options that are the same for every command of a sandbox."""
    options = [
        *("--unshare-user", "--uid", str(USER), "--gid", str(USER), "--disable-userns"),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--hostname", "sandbox", "--new-session", "--cap-drop", "ALL"),
    ]
    for name in root_filesystem.SYSTEM:
        if os.path.islink(f"/{name}"):
            options += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
        elif os.path.isdir(f"/{name}"):
            options += ["--ro-bind", f"/{name}", f"/{name}"]
    for name in root_filesystem.ETC:
        options += ["--ro-bind", f"{ETC}/{name}", f"/etc/{name}"]
    for name in root_filesystem.CONFIGURATION:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    options += ["--chmod", "0755", "/etc", "--proc", "/proc"]
    for name in root_filesystem.HIDDEN:
        if os.path.exists(f"/proc/{name}"):
            options += ["--dev-bind", "/dev/null", f"/proc/{name}"]
    # Read-only as a whole: bwrap leaves /proc/sys writable for root, and through /proc/1/mem its own init.
    options += ["--remount-ro", "/proc"]
    options += ["--dev", "/dev", "--bind", f"{staging.ROOM}/shm", "/dev/shm", "--remount-ro", "/dev"]
    options += ["--bind", f"{staging.ROOM}/tmp", "/tmp", "--bind", staging.WORK, "/work"]
    for number, (_, target) in enumerate(plan["mounts"]):
        if target is not None:
            options += ["--ro-bind", staging.mount_point(number), target]
    for path in plan["covered"]:
        if _is_there(path, plan):
            options += ["--perms", "0555", "--size", "4096", "--tmpfs", path, "--remount-ro", path]
    return [*options, "--remount-ro", "/", "--chdir", "/", "--clearenv"]


def words(request: dict) -> list[str]:
    """What follows the options: the launcher and the command."""
    return ["/bin/sh", "-c", LAUNCH, "sh", request["cwd"], *request["argv"]]


def _is_there(path: str, plan: dict) -> bool:
    """Whether a path inside is a directory. Raises SetupFailure when it is something else."""
    places = [(target, staging.mount_point(n)) for n, (_, target) in enumerate(plan["mounts"]) if target is not None]
    places += [(f"/{name}", f"/{name}") for name in root_filesystem.SYSTEM]
    places += [("/work", staging.WORK), ("/etc", ETC)]
    for target, source in sorted(places, key=lambda place: -len(place[0])):
        if path == target or path.startswith(f"{target}/"):
            there = source + path[len(target) :]
            if os.path.exists(there) and not os.path.isdir(there):
                raise SetupFailure(f"cover {path}", NotADirectoryError(20, "only directories can be covered"))
            return os.path.isdir(there)
    return False
