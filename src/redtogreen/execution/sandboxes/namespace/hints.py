"""What to do when a sandbox cannot be set up, from the step that failed and the settings of this machine."""

from __future__ import annotations

import errno
from pathlib import Path

_SETTINGS = (
    ("user/max_user_namespaces", "0", "user namespaces are limited to 0: sysctl -w user.max_user_namespaces=10000"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


def hint(step: str, number: int) -> str | None:
    """One line of advice, or None."""
    for name, value, advice in _SETTINGS:
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text().strip() == value:
            return advice
    if step.startswith("write ") and number == errno.ENOSPC:
        return "the workspace is full: raise Limits.disk or Limits.inodes"
    if step.startswith("write ") and number in (errno.ELOOP, errno.ENOTDIR, errno.EXDEV):
        return "a component of the path is a link or not a directory; links left by a command are never followed"
    if step.startswith("mount /proc"):
        return "a container hides parts of /proc: start it with --security-opt systempaths=unconfined"
    if number == errno.ENOSYS:
        return "Linux 5.14 or newer on x86_64 or aarch64 is needed"
    if number in (errno.EPERM, errno.EACCES):
        return (
            "inside a container start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
            " (as root also --cap-add SYS_ADMIN), or run on the machine itself"
        )
    return None
