"""Short ways to write trajectories, as the fixture `make`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from redtogreen.records import Feedback, FinalState, Metadata, Probe, StartState, Step, TestSummary, Trajectory

START = "sha256:" + "0" * 64


def edit(number: int, probe: Probe | None = None, *, tree: str | None = None, applied: bool | None = True) -> Step:
    return Step(
        stage="coding",
        step=number,
        action="edit_file",
        params={"path": "a.py", "start_line": number, "end_line": number, "new_content": f"x = {number}\n"},
        observation={},
        feedback=Feedback(status="ok", applied=applied),
        probe=probe,
        tree=tree,
    )


def tests_run(number: int, passed: int | None, failed: int | None) -> Step:
    return Step(
        stage="coding",
        step=number,
        action="run_test",
        params={"tests": ["tests"]},
        observation={},
        feedback=Feedback(status="ok", passed=passed, failed=failed),
    )


def trajectory(steps: list[Step], *, outcome: str | None = None, task: str = "p/t/1", **fields) -> Trajectory:
    success = {"solved": True, "failed": False, "tampered": False}.get(outcome or "")
    values = {
        "task_id": task,
        "attempt": f"{task}-a",
        "task_desc": "mend it",
        "start_state": StartState(tree=START),
        "trajectory": steps,
        "final_state": FinalState(patch=""),
        "outcome": outcome,
        "success": success,
        "metadata": Metadata(),
    }
    return Trajectory(**(values | fields))


def summary(passed: int, failed: int) -> FinalState:
    return FinalState(patch="", test_summary=TestSummary(passed=passed, failed=failed))


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    return SimpleNamespace(edit=edit, tests_run=tests_run, trajectory=trajectory, summary=summary, start=START)
