"""Short ways to write trajectories and cleaned folders, as the fixture `make`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from redtogreen.data.cleaning import CleaningResult, clean, load_cleaning_recipe, write_cleaned
from redtogreen.records import (
    Feedback,
    FinalState,
    Metadata,
    RowError,
    StartState,
    Step,
    Trajectory,
)
from redtogreen.rewards import load_recipe, score


def step(number: int, action: str = "edit_file", stage: str = "coding", **params) -> Step:
    return Step(
        stage=stage,
        step=number,
        action=action,
        params=params or {"path": "a.py"},
        observation={"applied": True} if action == "edit_file" else {"text": "..."},
        feedback=Feedback(status="ok"),
        seconds=0.5 * number,
    )


def row(task: str, index: int, outcome: str | None = "solved", steps: int = 3, **fields) -> Trajectory:
    metadata = {"agent": "repair", "index": index, "seed": 10 + index, "started": f"2026-01-01T00:00:{index:02}"}
    metadata |= fields.pop("metadata", {})
    values = {
        "task_id": task,
        "attempt": f"{task}#{index}",
        "task_desc": f"mend {task}",
        "start_state": StartState(files=["a.py"]),
        "trajectory": [step(n, new_content=f"{task} {index} {n}") for n in range(1, steps + 1)],
        "final_state": FinalState(patch=f"+{index}\n"),
        "outcome": outcome,
        "success": {"solved": True, "failed": False, "tampered": False}.get(outcome or ""),
        "metadata": Metadata(**metadata),
    }
    return Trajectory(**(values | fields))


def run_clean(rows: Iterable[Trajectory | RowError], recipe: str | Path = "default") -> CleaningResult:
    reward = load_recipe("default")
    numbered = (("in.jsonl", number, content) for number, content in enumerate(rows, 1))
    return clean(numbered, load_cleaning_recipe(recipe), lambda row: score(row, reward), reward_recipe=reward)


def cleaned(folder: Path, rows: Iterable[Trajectory]) -> Path:
    return write_cleaned(run_clean(rows), folder)


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    return SimpleNamespace(step=step, row=row, clean=run_clean, cleaned=cleaned)
