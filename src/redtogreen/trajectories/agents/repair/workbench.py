"""The agent's hands: one trial edit at a time over a base state, tests run, edits kept or undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from redtogreen.protocols import Answer, Workspace
from redtogreen.trajectories.agents.repair.failure import Failure, read_failures
from redtogreen.trajectories.agents.repair.reading import Reading
from redtogreen.trajectories.agents.repair.suggestions import Suggestion

MAX_SPAN = 60
"""Lines up to which undoing one edit and making the next is done as a single edit."""
SECONDS = 30
"""For a run of the failing tests; a repair that makes them hang is no repair."""


@dataclass(frozen=True)
class Trial:
    """An edit that is in the files but not kept yet."""

    path: str
    first: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def last(self) -> int:
        """Last line it replaced, in the base state."""
        return self.first + len(self.old) - 1


@dataclass(frozen=True)
class Outcome:
    """What a test run said."""

    failing: frozenset[str]
    """Failing, absent or uncollected ids among those that were asked for; all of them after a collapse."""
    failures: tuple[Failure, ...]
    observation: Mapping[str, Any]
    finished: bool
    """False: ended by a limit or without a proper end."""


class Workbench:
    """Acts in the workspace; `reading` always shows the base state, that is without the trial."""

    def __init__(self, workspace: Workspace, reading: Reading):
        self.workspace, self.reading = workspace, reading
        self.trial: Trial | None = None
        self.kept: list[Trial] = []

    @property
    def steps_left(self) -> int:
        return self.workspace.steps_left

    def act(self, action: str, stage: Literal["plan", "coding"], **params: Any) -> Answer:
        return self.workspace.act(action, params, stage=stage)

    def cost(self, suggestion: Suggestion) -> int:
        """Steps that trying a suggestion takes, the test run included."""
        return 2 if self.trial is None or self._merged(suggestion) is not None else 3

    def try_edit(self, suggestion: Suggestion) -> bool:
        """Make a suggestion the trial, in place of the one before; False when the file does not take it."""
        merged = self._merged(suggestion) if self.trial is not None else None
        if self.trial is not None and merged is None:
            self.undo()
        old = tuple(self.reading.text(suggestion.path, suggestion.first, suggestion.last))
        first, last, lines = merged or (suggestion.first, suggestion.last, list(suggestion.new))
        if not self._edit(suggestion.path, first, last, lines):
            return False
        self.trial = Trial(suggestion.path, suggestion.first, old, suggestion.new)
        return True

    def _merged(self, suggestion: Suggestion) -> tuple[int, int, list[str]] | None:
        """(first, last, lines) of one edit that undoes the trial and makes the suggestion; None: too far apart."""
        trial = self.trial
        if trial is None or trial.path != suggestion.path:
            return None
        low, high = min(trial.first, suggestion.first), max(trial.last, suggestion.last)
        if high - low >= MAX_SPAN or not self.reading.knows(suggestion.path, low, high):
            return None
        before = self.reading.text(suggestion.path, low, suggestion.first - 1)
        after = self.reading.text(suggestion.path, suggestion.last + 1, high)
        return low, high + len(trial.new) - len(trial.old), [*before, *suggestion.new, *after]

    def _edit(self, path: str, first: int, last: int, lines: list[str]) -> bool:
        content = "".join(line + "\n" for line in lines)
        answer = self.act("edit_file", "coding", path=path, start_line=first, end_line=last, new_content=content)
        said = answer.feedback.applied
        return bool(answer.observation.get("applied") if said is None else said)

    def undo(self) -> None:
        """Take the trial out of the file again."""
        trial = self.trial
        if trial is not None:
            self._edit(trial.path, trial.first, trial.first + len(trial.new) - 1, list(trial.old))
            self.trial = None

    def keep(self) -> None:
        """Make the trial part of the base state."""
        if self.trial is not None:
            self.reading.replace(self.trial.path, self.trial.first, self.trial.last, list(self.trial.new))
            self.kept.append(self.trial)
            self.trial = None

    def run_tests(self, tests: list[str] | None, *, coverage: bool = False, seconds: int = SECONDS) -> Outcome:
        """Run some tests, or the whole suite."""
        params: dict[str, Any] = {"tests": tests, "seconds": seconds}
        if coverage:
            params["coverage"] = True
        answer = self.act("run_test", "coding", **params)
        said = answer.observation
        failures = read_failures(said)
        failing = (
            {failure.test for failure in failures} | set(said.get("more_failures", ())) | set(said.get("absent", ()))
        )
        finished = answer.feedback.status == "ok" and said.get("complete", True)
        if tests is not None and not finished and not failing:
            failing = set(tests)
        for error in said.get("collection_errors", ()):
            failures.append(Failure(error["path"], error["exception"], error["message"], (), error["traceback"]))
        return Outcome(frozenset(failing), tuple(failures), said, bool(finished))
