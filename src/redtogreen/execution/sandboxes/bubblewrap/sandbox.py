"""The sandbox made by bubblewrap: the host's side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError

from ..base import ServedSandbox
from ..contract import Changes, Limits, Mount, Preload, ProcessResult
from ..guarantees import held
from ..namespace import cgroups
from ..namespace.connection import open_trees
from ..namespace.hints import hint
from ..requests import Facts, Opening, check_opening, decoded_status, judge, owner_for_lower
from ..trusted import GRACE_SECONDS, SETUP_SECONDS, TrustedInterpreter
from .program import Program, find_program
from .worker import ATTENDANTS

_BESIDE_INIT = 2  # bwrap and its init live in the groups of the command


def open_sandbox(
    lower: Path,
    *,
    mounts: Sequence[Mount] = (),
    covered: Sequence[str] = (),
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
    preload: Preload | None = None,
) -> BubblewrapSandbox:
    """Show the immutable directory `lower` copy-on-write at /work of a new sandbox, with `changes` applied.

    covered: absolute paths inside that appear as empty read-only directories; one that does not exist is ignored.
    env: added to the fixed environment of every command. preload: not used, every command starts cold.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    opening = check_opening(lower, mounts, covered, changes, limits, env)
    return BubblewrapSandbox(find_program(), opening)


class BubblewrapSandbox(ServedSandbox):
    """See `ServedSandbox`. `worker_process` is a pid on the host."""

    def __init__(self, program: Program, opening: Opening):
        super().__init__(opening)
        self.program = program
        self._groups = cgroups.create(self.limits.memory, self.limits.processes + _BESIDE_INIT)
        with self._coming_up():
            self._start(opening)
            self._probe()
            if opening.changes:
                self.write(opening.changes)
        self.guarantees, self.reasons = held(
            memory_group=self._groups.memory is not None,
            process_group=self._groups.pids is not None,
            release=os.uname().release,
        )
        self.guarantees["exit_status"] = "best effort"
        self.reasons["exit_status"] = "bwrap tells a signal N as exit code 128 + N, so the two cannot be told apart"

    def _start(self, opening: Opening) -> None:
        self._trusted = TrustedInterpreter(f"{__package__}.worker", "worker")
        self._channel, self.worker_process = self._trusted.channel, self._trusted.pid
        mounts = [*opening.mounts, (os.fspath(self.program.folder), None)]
        trees = _copied([opening.lower, *(source for source, _ in mounts)])
        plan = {
            **opening.plan(),
            "user": owner_for_lower(),
            "mounts": mounts,
            "program": self.program.name,
            "trees": len(trees),
        }
        descriptors = [*trees, *self._groups.entrances()[1]]
        try:
            self._channel.set_timeout(SETUP_SECONDS)
            self._channel.send(("open", plan), tuple(descriptors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        (_, entered), _ = self._answer("ready")
        self._groups.keep(entered)

    def _run(self, request: dict[str, Any], warm: Preload | None) -> ProcessResult:
        request = {
            **request,
            # beside a pids group only a second bound, so that the group is what counts the refusals
            "process_rlimit": self.limits.processes + ATTENDANTS + (0 if self._groups.pids is None else 8),
            "watch_memory": self._groups.memory is None,
            "watch_processes": self._groups.pids is None,
        }
        before = self._groups.killed_for_memory(), self._groups.refused_forks()
        _, facts, streams = self._ask("run", request, request["seconds"] + GRACE_SECONDS)
        after = self._groups.killed_for_memory(), self._groups.refused_forks()
        code, signal = decoded_status(facts["code"]) if facts["code"] is not None else (None, None)
        if facts["reason"] is not None:
            code, signal = None, 9
        lost = facts["code"] is None and facts["reason"] is None
        starved = after[0] > before[0]
        known = Facts(
            code=code,
            signal=9 if lost and starved else signal,
            reason=facts["reason"],
            failure="learn how the command ended: its init is dead or was never there" if lost else "",
            starved=starved,
            crowded=facts["crowded"] or after[1] > before[1],
            full=facts["full"],
            strays=facts["strays"],
            seconds=facts["seconds"],
            cpu_seconds=facts["cpu_seconds"],
        )
        return judge(known, *streams)

    def _probe(self) -> None:
        """Nothing has been promised before bwrap has run once."""
        result = self.run(["/bin/sh", "-c", ":"], cwd="/", seconds=SETUP_SECONDS)
        if result.verdict == "sandbox":
            text = result.stderr.text.strip().splitlines()
            raise SandboxError(
                f"bwrap {self.program.version} could not set up a sandbox: {text[0] if text else 'it said nothing'}",
                hint=hint("", 1 if "ermitted" in "".join(text) else 0),
            )

    def _end(self) -> None:
        if self._trusted is not None:
            self._trusted.end()
        self._groups.remove()


def _copied(paths: list[str]) -> list[int]:
    try:
        return open_trees(paths)
    except OSError as error:
        raise SandboxError(
            f"the sandbox could not copy mounts for its namespace: [Errno {error.errno}] {error.strerror}",
            hint=hint("copy mounts", error.errno or 0),
        ) from error
