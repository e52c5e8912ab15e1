"""Judge many mutants of one project in one sandbox, each in a fraction of a run of the suite.

The suite is collected once and run once to see which test executes which line; then every mutant gets a fork in which
only the code it changes is swapped and only the tests that execute it run, until one fails. What comes out is a hint
for the one who pays for full runs: nothing is admitted or dropped by it alone.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes.contract import ProcessResult, Sandbox
from redtogreen.execution.testruns.run import INTERPRETER, PROGRAMS


@dataclass(frozen=True)
class Mutant:
    """One change of one file of the project."""

    name: str
    """Names it among the others."""
    path: str
    """POSIX path relative to the workspace."""
    start: int
    """Byte offset where the replaced span begins."""
    end: int
    """Byte offset just after it."""
    replacement: bytes


class Judged(msgspec.Struct, kw_only=True, frozen=True):
    """What the tests that execute a mutant's lines say."""

    verdict: Literal["killed", "survived", "timeout", "unknown"]
    """unknown: the change shows in more than the code of functions, or its tests did not come to an end."""
    reason: str = ""
    """Why it is unknown."""
    test: str | None = None
    """The id that killed it."""
    tests: int = 0
    """How many tests execute it."""
    cpu_seconds: float = 0.0
    """CPU seconds of its fork."""


class _Mutant(Judged, kw_only=True, frozen=True, tag="mutant", tag_field="kind"):
    name: str


class _Lost(msgspec.Struct, tag="lost", tag_field="kind"):
    reason: str


@dataclass(frozen=True)
class Prefiltered:
    """All verdicts of one run."""

    mutants: dict[str, Judged]
    """Name -> verdict; one for every mutant that was asked for."""
    process: ProcessResult


_decoder = msgspec.json.Decoder(_Mutant | _Lost)


def prefilter(
    sandbox: Sandbox, mutants: Sequence[Mutant], *, tests: Sequence[str] | None = None, seconds: float = 600
) -> Prefiltered:
    """Judge mutants of the project in a sandbox's workspace, which holds the intact project and nothing of an agent.

    `tests`: only these ids count, None: all that pass. `seconds`: wall clock of everything together; what was not
    reached is unknown. Never raises for what the project does; raises SandboxError when the sandbox itself failed.
    """
    token = secrets.token_hex(16)
    request = {
        "token": token,
        "tests": None if tests is None else list(tests),
        "seconds": seconds,
        "mutants": [
            {
                "name": mutant.name,
                "path": mutant.path,
                "start": mutant.start,
                "end": mutant.end,
                "replacement": base64.b64encode(mutant.replacement).decode(),
            }
            for mutant in mutants
        ],
    }
    process = sandbox.run(
        [*INTERPRETER, f"{PROGRAMS}/run_prefilter.py"],
        stdin=json.dumps(request).encode(),
        env={"PYTHONHASHSEED": "0"},
        seconds=seconds,
        report=True,
    )
    if process.verdict == "sandbox":
        raise SandboxError(f"mutants could not be judged: {process.stderr.text.strip()[-500:]}")
    judged, lost = _read(process.report, token.encode() + b" ")
    said = process.stderr.text.strip().splitlines()
    ended = lost or f"the run ended with {process.verdict} before" + (f": {said[-1][:300]}" if said else "")
    missing = Judged(verdict="unknown", reason=ended)
    return Prefiltered({mutant.name: judged.get(mutant.name, missing) for mutant in mutants}, process)


def _read(report: bytes, mark: bytes) -> tuple[dict[str, Judged], str]:
    judged: dict[str, Judged] = {}
    lost = ""
    for line in report.split(b"\n"):
        if not line.startswith(mark):
            continue
        try:
            record = _decoder.decode(line.removeprefix(mark))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if isinstance(record, _Lost):
            lost = record.reason
        else:
            judged[record.name] = record
    return judged, lost
