"""The sandbox made of Linux namespaces: the host's side.

Three levels below this process do the work: launcher.py (forks the others), worker.py (files and pipes of one sandbox)
and init.py (process 1 inside). This side only asks, waits with a backstop, and judges which limit was hit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from redtogreen.errors import UsageError

from ..base import ServedSandbox
from ..contract import Changes, Limits, Mount, Preload, ProcessResult
from ..guarantees import held
from ..requests import Facts, Opening, check_opening, judge, wait_status
from ..trusted import GRACE_SECONDS, SETUP_SECONDS
from . import cgroups, connection, warm_servers
from .channel import pair
from .connection import await_end, open_trees, process_number
from .output import sealed


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
    opening = check_opening(lower, mounts, covered, changes, limits, env)
    if set(without) - {"system_calls"}:
        raise UsageError(f"cannot switch off {', '.join(without)}", hint="only system_calls can be left out")
    return NamespaceSandbox(opening, preload, without)


class NamespaceSandbox(ServedSandbox):
    """See `ServedSandbox`. `worker_process` and `init_process` are pids on the host."""

    def __init__(self, opening: Opening, preload: Preload | None, without: Sequence[str]):
        super().__init__(opening)
        self.preload = preload
        self._opening = replace(opening, changes={})
        self._init = self._worker = -1
        self._trusted = self._launcher = connection.launcher()
        self._groups = cgroups.create(self.limits.memory, self.limits.processes + 1)
        with self._coming_up():
            self._start(without)
            if opening.changes:
                self.write(opening.changes)
        self.guarantees, self.reasons = held(
            memory_group=self._groups.memory is not None,
            process_group=self._groups.pids is not None,
            release=os.uname().release,
        )
        self.guarantees |= dict.fromkeys(without, "absent")
        self.reasons |= dict.fromkeys(without, "it was switched off when the sandbox was opened")

    def _start(self, without: Sequence[str]) -> None:
        names, groups = self._groups.entrances()
        plan = {**self._opening.plan(), "without": list(without), "groups": len(groups), "group_names": names}
        trees: list[int] = []
        self._channel, inside = pair()
        try:
            trees = open_trees([plan["lower"], *(source for source, _ in plan["mounts"])])
            self._worker = self._launcher.fork("sandbox", plan, [inside.fileno(), *groups, *trees])
        finally:
            inside.close()
            for descriptor in (*groups, *trees):
                os.close(descriptor)
        self._channel.set_timeout(SETUP_SECONDS)
        _, (self._init,) = self._answer("started")
        (_, entered), _ = self._answer("ready")
        self._groups.keep(entered)

    @property
    def worker_process(self) -> int:
        return process_number(self._worker)

    @property
    def init_process(self) -> int:
        return process_number(self._init)

    def _run(self, request: dict[str, Any], warm: Preload | None) -> ProcessResult:
        result = None
        if warm is not None and warm_servers.fits(warm, request["argv"]):
            result = self._run_warm(request, warm)
        result = result or self._run_by(None, request, ())
        assert result is not None
        return result

    def _run_warm(self, request: dict[str, Any], warm: Preload) -> ProcessResult | None:
        """None: it has to be run cold."""
        found = warm_servers.find(warm, self._opening, request["env"], self._launcher)
        if found is None:
            return None
        server, *descriptors = found
        try:
            if warm.prepare is not None:
                descriptors.append(sealed(warm.prepare[1]))
            request = {**request, "prepare": warm.prepare and warm.prepare[0]}
            return self._run_by(server, request, tuple(descriptors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _run_by(
        self, server: warm_servers.Server | None, request: dict[str, Any], descriptors: tuple[int, ...]
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


def _judged(facts: dict[str, Any], streams: tuple, starved: bool, crowded: bool) -> ProcessResult:
    code, signal = wait_status(facts.get("status"))
    known = Facts(
        code=code,
        signal=signal,
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
