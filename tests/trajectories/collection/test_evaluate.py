"""Completion is measured by evaluation tests, with an interval; failures of the machine count for nothing."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.records import FinalState, Grade, Metadata, StartState, Trajectory
from redtogreen.trajectories.collection import evaluate
from redtogreen.trajectories.collection.evaluate import completion, wilson


def test_an_agent_is_measured_on_tests_it_never_saw(material, agents, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = evaluate(material.file, f"{agents}:Solver", "c1")
    assert found["checkpoint"] == "c1" and found["n"] == 2 and found["machine_failures"] == 0
    # The second task's evaluation test passes from the start: its bug lies elsewhere.
    assert found["completion"] == 1.0 and found["reward"] is None
    assert found["interval"] == pytest.approx([0.3424, 1.0], abs=1e-4)
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith("redtogreen")]
    assert left == [], "without --out nothing is left"


def row(outcome: str, evaluation: dict[str, str]) -> Trajectory:
    return Trajectory(
        task_id="t",
        task_desc="",
        start_state=StartState(),
        trajectory=[],
        final_state=FinalState(patch=""),
        outcome=outcome,
        metadata=Metadata(grade=Grade(task_id="t", outcome=outcome, evaluation=evaluation)),
    )


def test_what_counts_as_completed(material):
    train = material.tasks[0]
    held_out = msgspec.structs.replace(train, use="eval")
    assert completion(train, row("failed", {"e": "passed"})) is True
    assert completion(train, row("solved", {"e": "failed"})) is False
    assert completion(train, row("tampered", {"e": "passed"})) is False
    assert completion(train, row("solved", {})) is None
    assert completion(held_out, row("solved", {})) is True
    assert completion(held_out, row("failed", {})) is False


def test_wilson_of_a_worked_example():
    """15 of 50: middle 0.3143, half 0.1233."""
    assert wilson(15, 50) == pytest.approx((0.1910, 0.4375), abs=1e-3)


@given(st.integers(1, 500), st.integers(0, 500))
def test_wilson_holds_the_share_and_stays_in_range(n, successes):
    successes = min(successes, n)
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n + 1e-12 and successes / n - 1e-12 <= high <= 1
