"""What the grader decided about one attempt."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from redtogreen.records.base import SCHEMA, Record, TestStatus

Outcome = Literal["solved", "failed", "tampered", "environment_error", "grader_error", "interrupted"]
Severity = Literal["low", "medium", "high"]
REWARDED: tuple[Outcome, ...] = ("solved", "failed", "tampered")
"""Outcomes that carry a reward; the others are failures of the machine."""


class Finding(Record, kw_only=True):
    """Something an attempt tried that is not honest work, or looks like it."""

    kind: str
    """For example `protected_file`, `test_configuration`, `bytecode`."""
    status: Literal["blocked", "attempted", "succeeded"]
    evidence: str
    """File, line or step that shows it."""
    severity: Severity = "medium"
    """How seldom honest work looks like this; `high`: hardly ever."""


class TwinCount(Record, kw_only=True):
    """Flipped twins: clones of reward tests that a right solution must fail."""

    made: int = 0
    betrayed: int = 0
    """Twins that passed although they must fail."""


class Grade(Record, kw_only=True):
    """Outcome of one attempt with the verdict per test id."""

    schema: int = SCHEMA
    task_id: str
    outcome: Outcome
    resolved: bool = False
    """All reward tests passed and nothing was tampered with."""
    tests: dict[str, TestStatus] = {}
    """Status of every reward test."""
    evaluation: dict[str, TestStatus] = {}
    """Status of every evaluation test; measures completion, never a reward."""
    twins: TwinCount = field(default_factory=TwinCount)
    findings: list[Finding] = []
    error: str | None = None
    """What failed, for `environment_error` and `grader_error`."""

    @property
    def completion(self) -> bool | None:
        """Whether every evaluation test passed; None when the task holds none."""
        return all(status == "passed" for status in self.evaluation.values()) if self.evaluation else None
