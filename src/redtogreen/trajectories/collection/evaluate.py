"""How many tasks an agent really completes: measured by tests that influence no reward."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from redtogreen.records import Score, Task, Trajectory
from redtogreen.records.grade import REWARDED
from redtogreen.store import scratch
from redtogreen.trajectories.collection.collect import Emit, collect
from redtogreen.trajectories.collection.load import load_run
from redtogreen.trajectories.collection.run_folder import RunFolder

_Z95 = 1.959963984540054


def evaluate(
    tasks: Path,
    agent: str,
    checkpoint: str,
    *,
    out: Path | None = None,
    attempts: int = 1,
    workers: int | None = None,
    seed: int = 0,
    temperature: float | None = None,
    options: Mapping[str, str] | None = None,
    scorer: Callable[[Trajectory], Score] | None = None,
    on_event: Emit | None = None,
) -> dict[str, Any]:
    """Attempts at every task, judged by evaluation tests.

    Returns `checkpoint`, `reward` (mean over the attempts that have one, None without a scorer), `completion` (share in
    [0, 1] of the attempts that completed their task, None when no task can measure it), `n` (attempts counted for it),
    `interval` (95 %, Wilson), `machine_failures` (attempts that count for nothing) and `unmeasured` (attempts at tasks
    that hold no evaluation tests). `out` keeps the run; without it
    the run is thrown away. Raises as `collect`.
    """
    with scratch() as temporary:
        run = temporary / "run" if out is None else out
        collect(
            tasks,
            agent,
            run,
            attempts=attempts,
            workers=workers,
            seed=seed,
            temperature=temperature,
            options=options,
            scorer=scorer,
            on_event=on_event,
        )
        return {"checkpoint": checkpoint, **summarize(run)}


def summarize(run: Path) -> dict[str, Any]:
    """The figures of `evaluate` from a run that exists."""
    by_id = {task.task_id: task for task in RunFolder.open(run).tasks()}
    rewards: list[float] = []
    done: list[bool] = []
    failures = unmeasured = 0
    for row in load_run(run):
        if row.outcome not in REWARDED:
            failures += 1
            continue
        if row.reward is not None:
            rewards.append(row.reward)
        completed = completion(by_id[row.task_id], row)
        if completed is None:
            unmeasured += 1
        else:
            done.append(completed)
    count = len(done)
    return {
        "reward": sum(rewards) / len(rewards) if rewards else None,
        "completion": sum(done) / count if count else None,
        "n": count,
        "interval": list(wilson(sum(done), count)) if count else None,
        "machine_failures": failures,
        "unmeasured": unmeasured,
    }


def completion(task: Task, row: Trajectory) -> bool | None:
    """Whether an attempt completed its task; None when the task has nothing to measure it with.

    Evaluation tests decide, and a tampered attempt completes nothing; on tasks for evaluation the reward tests may.
    """
    grade = row.metadata.grade
    if grade is None:
        return None
    if grade.completion is not None:
        return grade.completion and row.outcome != "tampered"
    return row.outcome == "solved" if task.use == "eval" else None


def wilson(successes: int, n: int, z: float = _Z95) -> tuple[float, float]:
    """Wilson score interval of a proportion (Wilson 1927), both ends in [0, 1]; `n` at least 1."""
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
