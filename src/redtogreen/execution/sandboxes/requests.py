"""What callers may ask of any backend, and how the facts about a command become its result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError, UsageError

from .contract import (
    BASE_ENVIRONMENT,
    Changes,
    Limits,
    Mount,
    Output,
    ProcessResult,
    Verdict,
    check_changes,
)

SANDBOX_ID = 64321
"""User and group id of everything in a sandbox started by root."""
RESERVED = ("/work", "/tmp", "/dev", "/proc")
LONGEST_SECONDS = 1e6
Stream = tuple[bytes, bytes, int]
"""First bytes kept, last bytes kept, how many there were."""
PackedChanges = list[tuple[str, str, bytes, bool]]


@dataclass(frozen=True)
class Opening:
    """What a sandbox is opened with. Made by `check_opening`."""

    lower: str
    """Absolute."""
    mounts: list[tuple[str, str]]
    """Absolute source, target; one comes before what is mounted inside it."""
    covered: tuple[str, ...]
    changes: Changes
    limits: Limits
    env: dict[str, str]
    """Of every command."""

    def plan(self) -> dict[str, Any]:
        """As plain values for a worker."""
        limits = self.limits
        return {
            "lower": self.lower,
            "mounts": self.mounts,
            "covered": list(self.covered),
            "disk": limits.disk,
            "inodes": limits.inodes,
            "memory": limits.memory,
            "processes": limits.processes,
            "output": limits.output,
            "report": limits.report,
            "cores": os.cpu_count() or 1,
        }


def check_opening(
    lower: Path,
    mounts: Sequence[Mount],
    covered: Sequence[str],
    changes: Changes | None,
    limits: Limits | None,
    env: dict[str, str] | None,
) -> Opening:
    """The same with defaults filled in. Raises SandboxError for what no backend can show."""
    check_changes(changes or {})
    _check_lower(lower)
    _check_places(mounts, covered)
    shown = sorted(((os.path.abspath(one.source), one.target) for one in mounts), key=lambda one: one[1])
    environment = {**BASE_ENVIRONMENT, **(env or {})}
    return Opening(os.path.abspath(lower), shown, tuple(covered), changes or {}, limits or Limits(), environment)


def owner_for_lower() -> int | None:
    """The uid (and gid) a lower tree must be given to before use, or None when it must simply belong to the caller."""
    return SANDBOX_ID if os.geteuid() == 0 else None


@dataclass(frozen=True)
class Facts:
    """What a backend knows about a command that has ended."""

    code: int | None = None
    """Exit code, or None when a signal ended it or nothing is known."""
    signal: int | None = None
    reason: Verdict | None = None
    """Why the sandbox ended it, or None when it ended by itself."""
    failure: str = ""
    """What the machine could not do; empty when the command was really run."""
    starved: bool = False
    crowded: bool = False
    full: bool = False
    strays: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def judge(facts: Facts, stdout: Stream, stderr: Stream, report: bytes) -> ProcessResult:
    """The result of a command: a limit that was hit is named even when the command then ended well."""
    verdict: Verdict
    if facts.reason is not None:
        verdict = facts.reason
    elif facts.starved:
        verdict = "memory"
    elif facts.failure:
        verdict = "sandbox"
        note = f"the sandbox could not {facts.failure}\n".encode()
        stderr = (stderr[0], stderr[1] + note, stderr[2] + len(note))
    elif facts.crowded:
        verdict = "processes"
    elif facts.full:
        verdict = "disk"
    else:
        verdict = "ok" if facts.code == 0 else "failure"
    return ProcessResult(
        exit_code=facts.code,
        signal=facts.signal,
        stdout=Output(*stdout),
        stderr=Output(*stderr),
        verdict=verdict,
        strays=facts.strays,
        seconds=facts.seconds,
        cpu_seconds=facts.cpu_seconds,
        report=report,
    )


def decoded_status(code: int) -> tuple[int | None, int | None]:
    """(exit code, signal) from the shells' convention, in which 128 + N stands for signal N."""
    return (None, code - 128) if 128 < code <= 128 + 64 else (code, None)


def wait_status(status: int | None) -> tuple[int | None, int | None]:
    """(exit code, signal) from what waiting for a process returned; None: nothing is known."""
    if status is None:
        return None, None
    return (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)


def check_command(argv: Sequence[str], env: Mapping[str, str], cwd: str, seconds: float) -> None:
    """Raises UsageError for a command that cannot be one."""
    if not argv or any("\0" in word for word in (*argv, *env, *env.values(), cwd)):
        raise UsageError("a command needs at least one word, and none of its words may hold NUL")
    if not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError(f"a command cannot run for {seconds} seconds", hint=f"give 0 to {LONGEST_SECONDS:.0f}")


def _check_lower(lower: Path) -> None:
    owner = owner_for_lower()
    owner = os.geteuid() if owner is None else owner
    if not os.path.isdir(lower):
        raise SandboxError(f"the lower tree {lower} is not a directory")
    actual = os.stat(lower).st_uid
    if actual != owner:
        raise SandboxError(
            f"the lower tree {lower} belongs to uid {actual}, so commands could not change its files",
            hint=f"give it to uid {owner} first: chown -R {owner}:{owner} {lower}",
        )


def _check_places(mounts: Sequence[Mount], covered: Sequence[str]) -> None:
    for mount in mounts:
        if not os.path.exists(mount.source):
            raise SandboxError(f"cannot mount {mount.source}: it does not exist")
        if any(mount.target == path or mount.target.startswith(f"{path}/") for path in RESERVED):
            raise SandboxError(f"cannot mount {mount.source} at {mount.target}", hint="choose a path such as /env")
    for path in (*covered, *(mount.target for mount in mounts)):
        if not path.startswith("/") or path == "/" or os.path.normpath(path) != path or "\0" in path:
            raise SandboxError(f"{path!r} is not a normal absolute path inside the sandbox")


def packed(changes: Changes) -> PackedChanges:
    """Changes as plain values, for `writer.apply` and for a channel."""
    return [(path, change.kind, bytes(change.content), change.executable) for path, change in changes.items()]
