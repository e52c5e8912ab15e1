"""Agents that follow a script: the reference solution, nothing at all, a recorded attempt played again."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redtogreen.errors import AgentError, UsageError, nearest
from redtogreen.protocols import AgentSettings, Answer, Workspace
from redtogreen.records import Trajectory, read_strict
from redtogreen.records.canonical import normalise

_log = logging.getLogger(__name__)
_NUMBERED = re.compile(r"^ *(\d+)  (.*)$")


@dataclass
class Oracle:
    """Applies the reference solution by edits, runs the visible tests, submits."""

    reference: Mapping[str, Any]
    """Path -> FileChange."""
    name = "oracle"
    version = "1"

    def run(self, workspace: Workspace) -> None:
        workspace.act("write_plan", {"text": "Apply the reference solution, run the tests, submit."}, stage="plan")
        for path, change in sorted(self.reference.items()):
            if change.kind == "deleted":
                workspace.act("delete_file", {"path": path}, stage="coding")
            elif change.kind == "file":
                self._write(workspace, path, _text(path, change.content))
            else:
                raise AgentError(f"the reference holds {path} as a {change.kind}, which no action can make")
        workspace.act("run_test", {"tests": None}, stage="coding")
        workspace.act("submit", {}, stage="coding")

    def _write(self, workspace: Workspace, path: str, wanted: str) -> None:
        lines, total = self._read(workspace, path)
        if total is None:
            workspace.act("create_file", {"path": path, "content": wanted}, stage="coding")
            return
        new = wanted.splitlines()
        if len(lines) < total:  # too long to be read within the limits: replaced as a whole
            edits = [(1, total, new)]
        else:
            matcher = difflib.SequenceMatcher(None, lines, new, autojunk=False)
            edits = [(a + 1, b, new[x:y]) for kind, a, b, x, y in matcher.get_opcodes() if kind != "equal"]
        for first, last, content in reversed(edits):
            text = "".join(line + "\n" for line in content)
            params = {"path": path, "start_line": first, "end_line": last, "new_content": text}
            workspace.act("edit_file", params, stage="coding")

    def _read(self, workspace: Workspace, path: str) -> tuple[list[str], int | None]:
        """(lines as far as they could be read, how many there are); None: no such file."""
        lines: list[str] = []
        total: int | None = None
        while total is None or len(lines) < total:
            if total is not None and workspace.steps_left < 6:
                break
            params = {"path": path, "start_line": len(lines) + 1}
            answer = workspace.act("open_file", params, stage="plan").observation
            if "content" not in answer:
                break
            total = answer["total_lines"]
            shown = [found[2] for found in map(_NUMBERED.match, answer["content"].split("\n")) if found]
            if len(shown) != answer["end_line"] - answer["start_line"] + 1 or any(len(each) >= 400 for each in shown):
                return [], total
            lines += shown
            if not shown:
                break
        return lines, total


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise AgentError(f"the reference changes {path}, which is not text: no action can write it") from None


@dataclass
class Noop:
    """Submits at once: what doing nothing is worth."""

    name = "noop"
    version = "1"

    def run(self, workspace: Workspace) -> None:
        workspace.act("submit", {}, stage="coding")


@dataclass(frozen=True)
class Difference:
    """An answer that was another one when it was recorded."""

    step: int
    recorded: dict[str, Any]
    came: dict[str, Any]

    def __str__(self) -> str:
        fields = sorted(k for k in self.recorded.keys() | self.came.keys() if self.recorded.get(k) != self.came.get(k))
        return f"step {self.step}: the answer differs from the recorded one in {', '.join(fields)}"


@dataclass
class Replay:
    """Takes the steps of a recorded attempt again; `differences` holds the answers that came out differently."""

    trajectory: Trajectory
    differences: list[Difference] = field(default_factory=list)
    name = "replay"
    version = "1"

    def run(self, workspace: Workspace) -> None:
        for step in self.trajectory.trajectory:
            if step.action == "other":
                continue
            answer = workspace.act(step.action, step.params, stage=step.stage, call=step.call, call_id=step.call_id)
            recorded, came = _comparable(step.observation), _comparable(_said(answer))
            if recorded != came:
                difference = Difference(step.step, recorded, came)
                self.differences.append(difference)
                _log.warning("replay of %s: %s", self.trajectory.attempt or self.trajectory.task_id, difference)


def _said(answer: Answer) -> dict[str, Any]:
    return answer.observation


def _comparable(value: Any) -> Any:
    """An observation without what differs from run to run: durations, addresses, names of blobs."""
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, Mapping):
        return {key: _comparable(item) for key, item in value.items() if key not in ("seconds", "full")}
    if isinstance(value, list | tuple):
        return [_comparable(item) for item in value]
    return value


def build_oracle(settings: AgentSettings) -> Oracle:
    """Applies the reference solution, runs the tests, submits. Raises AgentError for a task without one."""
    if settings.reference is None:
        raise AgentError("agent oracle needs a reference solution, and this task has none")
    return Oracle(settings.reference)


build_oracle.needs_reference = True  # type: ignore[attr-defined]


def build_noop(settings: AgentSettings) -> Noop:
    """Submits at once without changing anything."""
    return Noop()


def build_replay(settings: AgentSettings) -> Replay:
    """Plays recorded steps again: --option trajectory=FILE.jsonl#ATTEMPT. Raises UsageError when there is none."""
    place = settings.options.get("trajectory", "")
    file, _, attempt = place.partition("#")
    if not file or not attempt:
        raise UsageError("agent replay needs what to play", "give --option trajectory=FILE.jsonl#ATTEMPT")
    if not Path(file).is_file():
        raise UsageError(f"no such file: {file}", "replay takes a file of trajectories, one JSON object per line")
    known = []
    for row in read_strict(Path(file), Trajectory):
        if row.attempt == attempt:
            return Replay(row)
        known.append(row.attempt or "")
    close = nearest(attempt, known)
    raise UsageError(f"{file} holds no attempt {attempt!r}", f"did you mean {close!r}?" if close else None)
