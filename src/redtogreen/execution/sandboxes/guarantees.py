"""Which promises a sandbox keeps, how strongly, why where one is weaker, and what would mend it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redtogreen.errors import SandboxError, UsageError, nearest

MEANINGS = {
    "host_files": "only the system's programs, the mounts asked for and the workspace are visible",
    "host_environment": "no variable and no descriptor of the host gets in",
    "system_read_only": "the system, the mounts, the lower tree and all of /proc cannot be written",
    "network": "no network but a loopback of its own; host sockets out of reach, abstract ones included",
    "process_isolation": "host processes cannot be seen, signalled or traced",
    "privileges": "an unprivileged user without capabilities who cannot gain any",
    "system_calls": "mounts, namespaces, tracing, keys, io_uring, BPF and modules are refused",
    "disk": "bytes and inodes of the workspace, /tmp and /dev/shm together are limited",
    "memory": "memory of the whole tree is limited",
    "process_count": "processes and threads alive at once are limited",
    "time": "a command is ended, with all it started, when its time is up",
    "output": "any amount of output is counted and kept in bounded memory",
    "tree_kill": "nothing a command started outlives it, and nothing outlives the host process",
    "exit_status": "the status comes from a process the command can neither trace nor write to",
    "collection": "reading a workspace follows no link, waits for no pipe and runs nothing that lies in it",
}

REMEDIES = {
    "memory": "let this user make memory control groups: systemd-run --user --scope -p Delegate=yes, or run as root",
    "process_count": "use Linux 5.14 or newer, or let this user make pids control groups",
}
"""What mends a guarantee that is weaker than it can be; for the others it is another backend or another machine."""

TIERS = {
    "namespaces+cgroup": "user namespaces, with control groups for memory and processes",
    "namespaces+watchdog": "user namespaces; memory is sampled every 50 ms instead of limited by the kernel",
    "landlock": "no namespaces: Landlock, a system call filter, limits and as root a user of its own, on a copied "
    "workspace without /work; only with --backend landlock",
    "none": "nothing holds here, so nothing is run",
}
"""In the order of preference; the first that this machine can do is used, and never a lower one unasked."""


def tier_of(guarantees: Mapping[str, str]) -> str:
    """The tier of a sandbox that is up, or none when no guarantee holds."""
    if not any(level != "absent" for level in guarantees.values()):
        return "none"
    if guarantees.get("host_files") == "best effort":  # a root of its own, which hides them, takes a namespace
        return "landlock"
    return "namespaces+cgroup" if guarantees.get("memory") == "enforced" else "namespaces+watchdog"


def missing(required: Iterable[str], guarantees: Mapping[str, str]) -> list[str]:
    """The required guarantees that are not enforced, in the order asked for.

    Raises UsageError for a name that is no guarantee.
    """
    required = list(required)
    for name in required:
        if name not in MEANINGS:
            close = nearest(name, MEANINGS)
            raise UsageError(
                f"unknown guarantee {name!r}", (f"did you mean {close!r}? " if close else "") + "See: redtogreen doctor"
            )
    return [name for name in required if guarantees.get(name, "absent") != "enforced"]


def demand(required: Iterable[str], guarantees: Mapping[str, str], who: str) -> None:
    """Raises SandboxError when a required guarantee is not enforced; `who` requires it. Nothing is run with less."""
    absent = missing(required, guarantees)
    if absent:
        levels = ", ".join(f"{name} is {guarantees.get(name, 'absent')}" for name in absent)
        raise SandboxError(
            f"{who} requires what the sandbox does not enforce here: {levels}",
            "see why and what mends it: redtogreen doctor",
        )


def held(*, memory_group: bool, process_group: bool, release: str) -> tuple[dict[str, str], dict[str, str]]:
    """(name -> "enforced" or "best effort", name -> reason where it is not enforced) for a sandbox that is up.

    `release` is the kernel's: before 5.14 the number of processes is counted per user of the machine, not per sandbox.
    """
    levels = dict.fromkeys(MEANINGS, "enforced")
    reasons = {}
    if not memory_group:
        levels["memory"] = "best effort"
        reasons["memory"] = "no memory control group may be created here: memory is sampled every 50 ms instead"
    if not process_group and _version(release) < (5, 14):
        levels["process_count"] = "best effort"
        reasons["process_count"] = f"no pids control group here, and kernel {release} counts processes per user"
    return levels, reasons


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("-")[0].split(".")[:2] if part.isdigit())
