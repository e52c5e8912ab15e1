"""What this tier promises: less than a sandbox with namespaces does, and most of it only when root opens it."""

from __future__ import annotations

from ..guarantees import MEANINGS

_ALWAYS = {
    "host_files": "files outside cannot be read or listed, but their existence and size can be looked up by path",
    "network": "every socket is refused: nothing outside can be reached, and there is no loopback either",
    "process_isolation": "other processes cannot be signalled, traced or read, but their numbers can be found out",
    "disk": "no quota without mounts: the workspace and /tmp are measured again and again instead",
    "memory": "memory is sampled every 50 ms instead of limited by the kernel",
}
_SAME_USER = {
    "system_read_only": "commands run as the user who opened the sandbox: modes and times of that user's files can be "
    "changed, their contents cannot",
    "process_count": "commands share the kernel's count with everything else this user runs",
    "time": "without a user of its own a tree is ended child by child",
    "tree_kill": "without a user of its own a tree is ended child by child, and starts anew meanwhile",
}
_OLD = {
    3: {"system_read_only": "this kernel's Landlock does not cover truncation"},
    6: {
        "process_isolation": "this kernel's Landlock does not cover signals",
        "exit_status": "this kernel's Landlock does not cover signals",
    },
}
"""The version of Landlock from which on a reason is gone; a user of its own makes up for it."""


def promised(*, own_user: bool, version: int) -> tuple[dict[str, str], dict[str, str]]:
    """(guarantee -> "enforced", "best effort" or "absent", guarantee -> reason where it is not enforced)."""
    reasons = dict(_ALWAYS)
    absent: set[str] = set()
    if not own_user:
        reasons |= _SAME_USER
        for since, missing in _OLD.items():
            if version < since:
                reasons |= missing
                absent |= missing.keys()
    levels = {name: "best effort" if name in reasons else "enforced" for name in MEANINGS}
    return levels | dict.fromkeys(absent, "absent"), reasons
