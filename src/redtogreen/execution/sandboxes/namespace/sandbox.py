"""The sandbox made of Linux namespaces: the host's side.

Three levels below this process do the work: launcher.py (forks the others), worker.py (files and pipes of one sandbox)
and init.py (process 1 inside). This side only asks, waits with a backstop, and judges which limit was hit.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError, UsageError

from ..contract import (
    BASE_ENVIRONMENT,
    Changes,
    FileChange,
    Limits,
    Mount,
    Output,
    Preload,
    ProcessResult,
    Verdict,
    check_changes,
)
from ..guarantees import held
from . import cgroups, connection, warm_servers
from .channel import Closed, pair
from .connection import GRACE_SECONDS, SANDBOX_ID, SETUP_SECONDS, open_trees, process_number, read_answer

_RESERVED = ("/work", "/tmp", "/dev", "/proc")
_LONGEST_SECONDS = 1e6


def owner_for_lower() -> int | None:
    """The uid (and gid) a lower tree must be given to before use, or None when it must simply belong to the caller."""
    return SANDBOX_ID if os.geteuid() == 0 else None


def open_sandbox(
    lower: Path,
    *,
    mounts: Sequence[Mount] = (),
    covered: Sequence[str] = (),
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
    preload: Preload | None = None,
) -> NamespaceSandbox:
    """Show the immutable directory `lower` copy-on-write at /work of a new sandbox, with `changes` applied.

    covered: absolute paths inside that appear as empty read-only directories; one that does not exist is ignored.
    env: added to the fixed environment of every command.
    preload: what a command run with `warm=True` may find loaded.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    limits = limits or Limits()
    changes = changes or {}
    check_changes(changes)
    _check_lower(lower)
    _check_mounts(mounts, covered)
    return NamespaceSandbox(lower, mounts, covered, changes, limits, {**BASE_ENVIRONMENT, **(env or {})}, preload)


class NamespaceSandbox:
    """One sandbox. Commands run one at a time; calls from several threads wait for each other.

    `worker_process` and `init_process` are pids on the host; `reasons` says why a guarantee is not enforced.
    """

    def __init__(
        self,
        lower: Path,
        mounts: Sequence[Mount],
        covered: Sequence[str],
        changes: Changes,
        limits: Limits,
        env: dict[str, str],
        preload: Preload | None,
    ):
        self.limits, self.env, self.preload = limits, env, preload
        self.skipped: list[str] = []
        self._shown = warm_servers.Shown(mounts, covered)
        self._lock = threading.RLock()
        self._host = os.getpid()
        self._init = self._worker = -1
        self._broken: str | None = None
        self._launcher = connection.launcher()
        self._groups = cgroups.create(limits.memory, limits.processes + 1)
        try:
            self._start(lower, mounts, covered)
            if changes:
                self.write(changes)
        except BaseException as error:
            self._end()
            if isinstance(error, (Closed, OSError)):
                reason = f"{type(error).__name__}: {error}{self._launcher.complaint}"
                raise SandboxError(f"the sandbox's worker did not come up: {reason}") from error
            raise
        self.guarantees, self.reasons = held(
            memory_group=self._groups.memory is not None,
            process_group=self._groups.pids is not None,
            release=os.uname().release,
        )

    def _start(self, lower: Path, mounts: Sequence[Mount], covered: Sequence[str]) -> None:
        limits = self.limits
        names, groups = self._groups.entrances()
        shown = sorted(((os.path.abspath(mount.source), mount.target) for mount in mounts), key=_target)
        plan: dict[str, Any] = {
            "lower": os.path.abspath(lower),
            "mounts": shown,
            "covered": list(covered),
            "groups": len(groups),
            "group_names": names,
            "disk": limits.disk,
            "inodes": limits.inodes,
            "memory": limits.memory,
            "processes": limits.processes,
            "output": limits.output,
            "report": limits.report,
            "cores": os.cpu_count() or 1,
        }
        trees: list[int] = []
        self._channel, inside = pair()
        try:
            trees = open_trees([plan["lower"], *(source for source, _ in shown)])
            self._worker = self._launcher.fork("sandbox", plan, [inside.fileno(), *groups, *trees])
        finally:
            inside.close()
            for descriptor in (*groups, *trees):
                os.close(descriptor)
        self._channel.set_timeout(SETUP_SECONDS)
        _, (self._init,) = read_answer(self._channel, "started", self._launcher)
        (_, entered), _ = read_answer(self._channel, "ready", self._launcher)
        self._groups.keep(entered)

    @property
    def worker_process(self) -> int:
        return process_number(self._worker)

    @property
    def init_process(self) -> int:
        return process_number(self._init)

    def run(
        self,
        argv: list[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        seconds: float | None = None,
        report: bool = False,
        cwd: str = "/work",
        warm: Preload | None = None,
    ) -> ProcessResult:
        """Run one command to its end, and the end of everything it started.

        seconds: wall clock, the limit's by default. report: give it a pipe as descriptor 3.
        warm: it is this interpreter with a script, and may be forked from one that has these modules loaded.
        Raises SandboxError when the sandbox is closed, has died before, or does not answer; UsageError for a command
        that cannot be one.
        """
        seconds = self.limits.seconds if seconds is None else seconds
        environment = {**self.env, **(env or {})}
        if not argv or any("\0" in word for word in (*argv, *environment, *environment.values(), cwd)):
            raise UsageError("a command needs at least one word, and none of its words may hold NUL")
        if not 0 < seconds <= _LONGEST_SECONDS:
            raise UsageError(f"a command cannot run for {seconds} seconds", hint=f"give 0 to {_LONGEST_SECONDS:.0f}")
        request = {
            "argv": list(argv),
            "env": environment,
            "stdin": bytes(stdin),
            "seconds": float(seconds),
            "report": report,
            "cwd": cwd,
        }
        with self._lock:
            self._check_usable()
            server = None
            if warm is not None and warm_servers.fits(warm, argv):
                server = warm_servers.find(warm, self._shown, environment, self._launcher)
            result = None if server is None else self._run(request, server)
            result = result or self._run(request, None)
            assert result is not None
            return result

    def _run(self, request: dict[str, Any], server: warm_servers.Server | None) -> ProcessResult | None:
        """None when a server could not start the command, which is given up for that."""
        before = self._groups.killed_for_memory(), self._groups.refused_forks()
        start = time.monotonic()
        descriptors = () if server is None else (server.control,)
        kind, facts, streams = self._ask("run", request, request["seconds"] + GRACE_SECONDS, descriptors)
        if kind == "died":
            facts = {"status": facts, "reason": None, "seconds": time.monotonic() - start}
        elif server is not None and (facts["failure"] or not facts["started"]):
            warm_servers.give_up(server, facts["failure"] or "a command it was to start never arrived")
            return None
        after = self._groups.killed_for_memory(), self._groups.refused_forks()
        limits = {"starved": after[0] > before[0], "crowded": after[1] > before[1]}
        return _judge(facts, streams, warm=server is not None, **limits)

    def changes(self) -> Changes:
        """Every file and link in which the workspace differs from the lower tree. Sets `skipped`."""
        _, found, self.skipped = self._ask("changes", None)
        return {path: FileChange(*change) for path, change in found.items()}

    def write(self, changes: Changes) -> None:
        """Write into the workspace from outside. Raises SandboxError for a path that leads through a link."""
        check_changes(changes)
        self._ask("write", _packed(changes))

    def close(self) -> None:
        """End the sandbox. When this returns nothing of it lives. (A forked copy of the host ends nothing.)"""
        if os.getpid() != self._host:
            return
        with self._lock:
            self._end()
            self._broken = self._broken or "it is closed"

    def __enter__(self) -> NamespaceSandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ask(self, order: str, argument: Any, seconds: float | None = None, descriptors: tuple[int, ...] = ()) -> tuple:
        with self._lock:
            self._check_usable()
            try:
                self._channel.set_timeout(seconds or 10 * SETUP_SECONDS)
                self._channel.send((order, argument), descriptors)
                return read_answer(self._channel, None, self._launcher)[0]
            except SandboxError:
                raise
            except BaseException as error:
                self._broken = f"{type(error).__name__} during {order!r}"
                self._end()
                if isinstance(error, (Closed, OSError)):
                    raise SandboxError(f"the sandbox failed: {self._broken}{self._launcher.complaint}") from error
                raise

    def _check_usable(self) -> None:
        if self._broken:
            raise SandboxError(f"the sandbox cannot be used any more: {self._broken}", hint="open a new sandbox")

    def _end(self) -> None:
        """Close the channel, on which the worker ends; kill what does not follow; wait for the last process."""
        worker, self._worker = self._worker, -1
        init, self._init = self._init, -1
        if worker >= 0:
            self._channel.hang_up()
            _wait(worker, GRACE_SECONDS)
        if init >= 0:
            _wait(init, 0)  # lives only when the worker was killed: it follows by PDEATHSIG
        self._groups.remove()


def _wait(process: int, seconds: float) -> None:
    """Until it has ended, killing it after so many seconds; closes the descriptor."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    if not poll.poll(seconds * 1000):
        signal.pidfd_send_signal(process, signal.SIGKILL)
        poll.poll()
    os.close(process)


def _target(mount: tuple[str, str]) -> str:
    return mount[1]  # in this order a mount comes before what is mounted inside it


def _check_lower(lower: Path) -> None:
    if not os.path.isdir(lower):
        raise SandboxError(f"the lower tree {lower} is not a directory")
    wanted = os.geteuid() if owner_for_lower() is None else SANDBOX_ID
    owner = os.stat(lower).st_uid
    if owner != wanted:
        raise SandboxError(
            f"the lower tree {lower} belongs to uid {owner}, so commands could not change its files",
            hint=f"give it to uid {wanted} first: chown -R {wanted}:{wanted} {lower}",
        )


def _check_mounts(mounts: Sequence[Mount], covered: Sequence[str]) -> None:
    for mount in mounts:
        if not os.path.exists(mount.source):
            raise SandboxError(f"cannot mount {mount.source}: it does not exist")
        if any(mount.target == path or mount.target.startswith(f"{path}/") for path in _RESERVED):
            raise SandboxError(f"cannot mount {mount.source} at {mount.target}", hint="choose a path such as /env")
    for path in (*covered, *(mount.target for mount in mounts)):
        if not path.startswith("/") or path == "/" or os.path.normpath(path) != path or "\0" in path:
            raise SandboxError(f"{path!r} is not a normal absolute path inside the sandbox")


def _packed(changes: Changes) -> list[tuple[str, str, bytes, bool]]:
    return [(path, change.kind, bytes(change.content), change.executable) for path, change in changes.items()]


def _judge(facts: dict[str, Any], streams: tuple, *, warm: bool, starved: bool, crowded: bool) -> ProcessResult:
    status = facts["status"]
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = None if signalled is not None else os.WEXITSTATUS(status)
    stdout, stderr, report = streams
    verdict: Verdict
    if facts.get("failure"):
        verdict, stderr = "sandbox", _with_note(stderr, facts["failure"])
    elif facts["reason"] is not None:
        verdict = facts["reason"]
    elif starved:
        verdict = "memory"
    elif "strays" not in facts:
        verdict = "sandbox"
    elif crowded or facts["crowded"]:
        verdict = "processes"
    elif facts["full"]:
        verdict = "disk"
    else:
        verdict = "ok" if code == 0 else "failure"
    return ProcessResult(
        exit_code=code,
        signal=signalled,
        stdout=Output(*stdout),
        stderr=Output(*stderr),
        verdict=verdict,
        strays=facts.get("strays", 0),
        seconds=facts["seconds"],
        cpu_seconds=facts.get("cpu_seconds", 0.0),
        report=report,
        warm=warm,
    )


def _with_note(stream: tuple[bytes, bytes, int], note: str) -> tuple[bytes, bytes, int]:
    head, tail, size = stream
    text = f"the sandbox could not {note}\n".encode()
    return head, tail + text, size + len(text)
