"""Attempts on every task of a file, in parallel, resumable at any moment."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from redtogreen import registry
from redtogreen.errors import EnvironmentUnavailable, UsageError
from redtogreen.execution.executors.local import WorkerLost, run_jobs
from redtogreen.protocols import AgentSettings
from redtogreen.records import Score, Task, Trajectory
from redtogreen.records.canonical import digest
from redtogreen.records.grade import REWARDED
from redtogreen.tasks.files import read_tasks
from redtogreen.trajectories.collection.attempt import AttemptJob, AttemptSettings, run_attempt
from redtogreen.trajectories.collection.load import RunIndex, index_run
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.collection.tables import write_tables

DEFAULT_TEMPERATURE = AgentSettings(seed=0).temperature
Emit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class CollectReport:
    """What a run holds after a collection."""

    attempts: int
    """All attempts of the run, interrupted ones included."""
    outcomes: dict[str, int]
    """Outcome -> number of attempts."""
    run: str
    damage: list[str] = field(default_factory=list)
    """Journals with damage in their middle, and where."""


def collect(
    tasks: Path,
    agent: str,
    out: Path,
    *,
    attempts: int = 3,
    workers: int | None = None,
    seed: int = 0,
    temperature: float | None = None,
    options: Mapping[str, str] | None = None,
    scorer: Callable[[Trajectory], Score] | None = None,
    on_event: Emit | None = None,
) -> CollectReport:
    """Let an agent make `attempts` attempts at every task, recording each step; the same call again continues a run.

    `workers`: processes at once, None for one per core. `scorer`: picklable; fills in reward and components when an
    attempt finishes. `on_event` is told of "attempt_started", "step" and "attempt_finished" after they are on the disk,
    and of "attempt_interrupted".

    An attempt that was lost with its process or machine stays as it is, marked interrupted, and a new attempt with the
    same seed takes its place (`:retry1`). Raises UsageError for other settings than the run was made with, for a run
    another collection works on, and for an unknown agent; EnvironmentUnavailable when the disk is full or worker
    processes cannot start. KeyboardInterrupt ends the workers first and keeps what was recorded.
    """
    tell = on_event or (lambda event: None)
    if attempts < 1:
        raise UsageError(f"attempts must be at least 1, found {attempts}")
    tasks, out = Path(tasks), Path(out).absolute()
    settings: dict[str, Any] = {
        "tasks": str(tasks),
        "tasks_hash": digest(tasks.read_bytes()) if tasks.is_file() else "",
        "agent": agent,
        "attempts": attempts,
        "seed": seed,
        "temperature": DEFAULT_TEMPERATURE if temperature is None else float(temperature),
        "options": {str(key): str(value) for key, value in sorted((options or {}).items())},
    }
    if not tasks.is_file():
        read_tasks(tasks)  # says what is wrong, and what is near
    registry.load("agents", agent)
    run = RunFolder(out)
    run.check_place()
    with run.locked() as lock:
        rows = run.prepare(tasks, settings)
        shared = AttemptSettings(str(out), agent, settings["temperature"], settings["options"], scorer)
        plan = _Plan(rows, settings)
        _mark_interrupted(run, tell)
        jobs = plan.open_jobs(index_run(run))
        lost = _work(shared, jobs, workers or len(os.sched_getaffinity(0)), tell, lock)
        if lost:  # once more in this collection; what is lost again waits for the next
            _mark_interrupted(run, tell)
            again = [job for job in plan.open_jobs(index_run(run)) if (job.task.task_id, job.index) in lost]
            _work(shared, again, workers or len(os.sched_getaffinity(0)), tell, lock)
            _mark_interrupted(run, tell)
        write_tables(run)
        return _report(run, index_run(run))


def attempt_id(task_id: str, agent: str, seed: int, index: int, retry: int = 0) -> str:
    """The name of one attempt."""
    return f"{task_id}:{agent}:{seed}:{index}" + (f":retry{retry}" if retry else "")


def attempt_seed(seed: int, task_id: str, index: int) -> int:
    """Seed of one attempt, 48 bits of SHA-256 over the run's seed, the task and the index."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{task_id}\0{index}".encode()).digest()[:6], "big")


@dataclass(frozen=True)
class _Plan:
    """Which attempts a run is to have."""

    tasks: list[Task]
    settings: Mapping[str, Any]

    def open_jobs(self, index: RunIndex) -> list[AttemptJob]:
        """What is still to be done: places never tried, and places whose last attempt was lost with the machine.

        An attempt that ended in a failure of the machine is tried again once, a lost one whenever it was lost.
        """
        latest = {(entry.task_id, entry.index): entry for entry in index.attempts}
        jobs = []
        for task in self.tasks:
            for number in range(self.settings["attempts"]):
                last = latest.get((task.task_id, number))
                retry = 0 if last is None else last.retry + 1
                if last is not None and last.outcome is not None and (last.outcome in REWARDED or last.retry > 0):
                    continue
                jobs.append(self._job(task, number, retry))
        return jobs

    def _job(self, task: Task, number: int, retry: int) -> AttemptJob:
        seed, agent = self.settings["seed"], self.settings["agent"]
        name = attempt_id(task.task_id, agent, seed, number, retry)
        return AttemptJob(name, task, number, attempt_seed(seed, task.task_id, number), retry)


def _work(shared: AttemptSettings, jobs: list[AttemptJob], workers: int, tell: Emit, lock: int) -> set[tuple[str, int]]:
    """Make the attempts; returns task and index of those whose worker was lost."""
    lost = set()
    results = run_jobs(partial(run_attempt, shared), jobs, min(workers, len(jobs)), tell, keep=[lock])
    with contextlib.closing(results):
        for job, result in results:
            if isinstance(result, WorkerLost):
                lost.add((job.task.task_id, job.index))
            elif isinstance(result, BaseException):
                raise _stopping(result)
    return lost


def _stopping(error: BaseException) -> BaseException:
    """An error that ends the collection; what was recorded stays."""
    if isinstance(error, (UsageError, EnvironmentUnavailable)) or not isinstance(error, Exception):
        return error
    error.add_note("the collection stopped here; everything recorded so far is kept, and the same command continues it")
    return error


def _mark_interrupted(run: RunFolder, tell: Emit) -> None:
    """Note the attempts that started and never finished; their processes are gone, since we hold the lock."""
    open_ones = [entry for entry in index_run(run).attempts if entry.outcome is None and not entry.marked]
    if not open_ones:
        return
    with run.new_journal("collect") as journal:
        for entry in open_ones:
            event = {"event": "attempt_interrupted", "attempt": entry.attempt}
            journal.append(event)
            tell({**event, "task_id": entry.task_id})


def _report(run: RunFolder, index: RunIndex) -> CollectReport:
    outcomes = Counter(entry.outcome or "interrupted" for entry in index.attempts)
    return CollectReport(len(index.attempts), dict(sorted(outcomes.items())), str(run.path), index.damage)
