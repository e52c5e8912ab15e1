"""Which promises a namespace sandbox keeps, and why where one is weaker."""

from __future__ import annotations

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
}


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
