"""The sandbox made of Linux namespaces: the host's side.

Three levels below this process do the work: launcher.py (forks the others), worker.py (files and pipes of one sandbox)
and init.py (process 1 inside). This side only asks, waits with a backstop, and judges which limit was hit.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError, UsageError

from ..contract import (
    BASE_ENVIRONMENT,
    Changes,
    FileChange,
    Limits,
    Mount,
    Preload,
    ProcessResult,
    check_changes,
)
from ..guarantees import held
from ..requests import Facts, check_command, check_lower, check_places, judge, packed
from . import cgroups, connection, warm_servers
from .channel import Closed, pair
from .connection import GRACE_SECONDS, SANDBOX_ID, SETUP_SECONDS, await_end, open_trees, process_number, read_answer
from .output import sealed


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
    without: Sequence[str] = (),
) -> NamespaceSandbox:
    """Show the immutable directory `lower` copy-on-write at /work of a new sandbox, with `changes` applied.

    covered: absolute paths inside that appear as empty read-only directories; one that does not exist is ignored.
    env: added to the fixed environment of every command.
    preload: what test runs may find loaded.
    without: guarantees switched off, to show that an attack works where nothing stops it; only "system_calls" can be.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    limits = limits or Limits()
    changes = changes or {}
    check_changes(changes)
    owner = owner_for_lower()
    check_lower(lower, os.geteuid() if owner is None else owner)
    check_places(mounts, covered)
    if set(without) - {"system_calls"}:
        raise UsageError(f"cannot switch off {', '.join(without)}", hint="only system_calls can be left out")
    environment = {**BASE_ENVIRONMENT, **(env or {})}
    return NamespaceSandbox(lower, mounts, covered, changes, limits, environment, preload, without)


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
        without: Sequence[str],
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
            self._start(lower, mounts, covered, without)
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
        self.guarantees |= dict.fromkeys(without, "absent")
        self.reasons |= dict.fromkeys(without, "it was switched off when the sandbox was opened")

    def _start(self, lower: Path, mounts: Sequence[Mount], covered: Sequence[str], without: Sequence[str]) -> None:
        limits = self.limits
        names, groups = self._groups.entrances()
        shown = sorted(((os.path.abspath(mount.source), mount.target) for mount in mounts), key=_target)
        plan: dict[str, Any] = {
            "lower": os.path.abspath(lower),
            "mounts": shown,
            "covered": list(covered),
            "without": list(without),
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
        check_command(argv, environment, cwd, seconds)
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
            result = None
            if warm is not None and warm_servers.fits(warm, argv):
                result = self._run_warm(request, warm)
            result = result or self._run(request, None, ())
            assert result is not None
            return result

    def _run_warm(self, request: dict[str, Any], warm: Preload) -> ProcessResult | None:
        """None: it has to be run cold."""
        found = warm_servers.find(warm, self._shown, request["env"], self._launcher)
        if found is None:
            return None
        server, *descriptors = found
        try:
            if warm.prepare is not None:
                descriptors.append(sealed(warm.prepare[1]))
            request = {**request, "prepare": warm.prepare and warm.prepare[0]}
            return self._run(request, server, tuple(descriptors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _run(
        self, request: dict[str, Any], server: warm_servers.Server | None, descriptors: tuple[int, ...]
    ) -> ProcessResult | None:
        """None when a server could not start the command, which is given up for that. descriptors: the way to it, and
        what its module is to install."""
        before = self._groups.killed_for_memory(), self._groups.refused_forks()
        start = time.monotonic()
        kind, facts, streams = self._ask("run", request, request["seconds"] + GRACE_SECONDS, descriptors)
        if kind == "died":
            facts = {"failure": "keep its init alive", "seconds": time.monotonic() - start}
        elif server is not None and (facts["failure"] or not facts["started"]):
            warm_servers.give_up(server, facts["failure"] or "a command it was to start never arrived")
            return None
        starved = self._groups.killed_for_memory() > before[0]
        crowded = self._groups.refused_forks() > before[1]
        return replace(_judged(facts, streams, starved, crowded), warm=server is not None)

    def changes(self) -> Changes:
        """Every file and link in which the workspace differs from the lower tree. Sets `skipped`."""
        _, found, self.skipped = self._ask("changes", None)
        return {path: FileChange(*change) for path, change in found.items()}

    def write(self, changes: Changes) -> None:
        """Write into the workspace from outside. Raises SandboxError for a path that leads through a link."""
        check_changes(changes)
        self._ask("write", packed(changes))

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
            await_end(worker, GRACE_SECONDS)
        if init >= 0:
            await_end(init, 0)  # lives only when the worker was killed: it follows by PDEATHSIG
        self._groups.remove()


def _target(mount: tuple[str, str]) -> str:
    return mount[1]  # in this order a mount comes before what is mounted inside it


def _judged(facts: dict[str, Any], streams: tuple, starved: bool, crowded: bool) -> ProcessResult:
    status = facts.get("status")
    signalled = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
    known = Facts(
        code=os.WEXITSTATUS(status) if status is not None and signalled is None else None,
        signal=signalled,
        reason=facts.get("reason"),
        failure=facts["failure"],
        starved=starved,
        crowded=crowded or facts.get("crowded", False),
        full=facts.get("full", False),
        strays=facts.get("strays", 0),
        seconds=facts["seconds"],
        cpu_seconds=facts.get("cpu_seconds", 0.0),
    )
    return judge(known, *streams)
