"""Attempts on every task of a file, in parallel, resumable at any moment."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from redtogreen import registry
from redtogreen.errors import EnvironmentUnavailable, UsageError
from redtogreen.execution.executors.local import WorkerLost, run_jobs
from redtogreen.protocols import AgentSettings
from redtogreen.records import Score, Task, Trajectory
from redtogreen.records.canonical import digest
from redtogreen.records.grade import REWARDED
from redtogreen.store import disk_errors
from redtogreen.tasks.files import read_tasks
from redtogreen.trajectories.collection.attempt import AttemptJob, AttemptSettings, run_attempt, started_event
from redtogreen.trajectories.collection.load import AttemptEntry, RunIndex, index_run
from redtogreen.trajectories.collection.origin import Origin
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.collection.tables import write_tables
from redtogreen.trajectories.recording.redaction import Redactor

DEFAULT_TEMPERATURE = AgentSettings(seed=0).temperature
TRIES = 2
"""Attempts that may fail for the machine, or lose their worker, before a place of the run is given up."""
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
    origin: Origin | None = None,
    on_event: Emit | None = None,
) -> CollectReport:
    """Let an agent make `attempts` attempts at every task, recording each step; the same call again continues a run.

    `workers`: processes at once, None for one per core. `scorer`: picklable; fills in reward and components when an
    attempt finishes. `origin`: where the attempts begin, if not at the start of their task. `on_event` is told of
    "attempt_started", "step" and "attempt_finished" after they are on the disk, and of "attempt_interrupted".

    An attempt that was lost with its process or machine stays as it is, marked interrupted, and a new attempt with the
    same seed takes its place (`:retry1`). One that fails for the machine, or whose own worker is lost, is made once
    more and then given up; one that was lost with the whole collection is made again by the next. Raises UsageError for
    other settings than the run was made with, for a run another collection works on, and for an unknown agent;
    EnvironmentUnavailable when the disk is full or worker processes cannot start. KeyboardInterrupt ends the workers
    first and keeps what was recorded.
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
    if origin is not None:
        settings["branch"] = msgspec.to_builtins(origin.branch)
    if not tasks.is_file():
        read_tasks(tasks)  # says what is wrong, and what is near
    registry.load("agents", agent)
    run = RunFolder(out)
    run.check_place()
    with run.locked() as lock:
        rows = run.prepare(tasks, settings)
        if origin is not None:
            with disk_errors(out):
                origin.keep(run.origin_file, run.blobs)
        branch = None if origin is None else origin.branch
        shared = AttemptSettings(str(out), agent, settings["temperature"], settings["options"], scorer, branch)
        plan = _Plan(rows, settings)
        _mark_interrupted(run, tell, shared)
        jobs = plan.open_jobs(index_run(run))
        while jobs:  # what lost its worker is made once more in this collection
            lost = _work(shared, jobs, workers or len(os.sched_getaffinity(0)), tell, lock)
            _mark_interrupted(run, tell, shared, lost)
            places = {(job.task.task_id, job.index) for job, _ in lost}
            jobs = [job for job in plan.open_jobs(index_run(run)) if (job.task.task_id, job.index) in places]
        write_tables(run)
        return _report(run, index_run(run))


def attempt_id(start: str, agent: str, seed: int, index: int, retry: int = 0) -> str:
    """The name of one attempt. start: where it begins, a task's id or `ATTEMPT@STEP`."""
    return f"{start}:{agent}:{seed}:{index}" + (f":retry{retry}" if retry else "")


def attempt_seed(seed: int, start: str, index: int) -> int:
    """Seed of one attempt, 48 bits of SHA-256 over the run's seed, where it begins (see `attempt_id`) and the index."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{start}\0{index}".encode()).digest()[:6], "big")


@dataclass(frozen=True)
class _Plan:
    """Which attempts a run is to have."""

    tasks: list[Task]
    settings: Mapping[str, Any]

    def open_jobs(self, index: RunIndex) -> list[AttemptJob]:
        """What is still to be done: places without a judged attempt that have not failed `TRIES` times.

        What was lost with its whole collection is no failure of the attempt and does not count.
        """
        made: dict[tuple[str, int], list[AttemptEntry]] = {}
        for entry in index.attempts:
            made.setdefault((entry.task_id, entry.index), []).append(entry)
        jobs = []
        for task in self.tasks:
            for number in range(self.settings["attempts"]):
                entries = made.get((task.task_id, number), [])
                judged = any(entry.outcome in REWARDED for entry in entries)
                spent = sum(entry.outcome is not None or entry.lost is not None for entry in entries)
                if not judged and spent < TRIES:
                    jobs.append(self._job(task, number, entries[-1].retry + 1 if entries else 0))
        return jobs

    def _job(self, task: Task, number: int, retry: int) -> AttemptJob:
        seed, agent, branch = self.settings["seed"], self.settings["agent"], self.settings.get("branch")
        start = task.task_id if branch is None else f"{branch['attempt']}@{branch['step']}"
        name = attempt_id(start, agent, seed, number, retry)
        return AttemptJob(name, task, number, attempt_seed(seed, start, number), retry)


def _work(
    shared: AttemptSettings, jobs: list[AttemptJob], workers: int, tell: Emit, lock: int
) -> list[tuple[AttemptJob, str]]:
    """Make the attempts; returns those whose worker was lost, and how it ended."""
    lost = []
    results = run_jobs(partial(run_attempt, shared), jobs, min(workers, len(jobs)), tell, keep=[lock])
    with contextlib.closing(results):
        for job, result in results:
            if isinstance(result, WorkerLost):
                lost.append((job, result.message))
            elif isinstance(result, BaseException):
                raise _stopping(result)
    return lost


def _stopping(error: BaseException) -> BaseException:
    """An error that ends the collection; what was recorded stays."""
    if isinstance(error, (UsageError, EnvironmentUnavailable)) or not isinstance(error, Exception):
        return error
    error.add_note("the collection stopped here; everything recorded so far is kept, and the same command continues it")
    return error


def _mark_interrupted(
    run: RunFolder, tell: Emit, shared: AttemptSettings, lost: Sequence[tuple[AttemptJob, str]] = ()
) -> None:
    """Note the attempts that never finished; their processes are gone, since we hold the lock.

    `lost`: those whose worker ended under them, which may have been before their first record.
    """
    entries = index_run(run).attempts
    open_ones = [entry for entry in entries if entry.outcome is None and not entry.marked]
    unknown = [job for job, _ in lost if job.attempt not in {entry.attempt for entry in entries}]
    how = {job.attempt: reason for job, reason in lost}
    if not open_ones and not unknown:
        return
    with run.new_journal("collect") as journal:
        for job in unknown:
            journal.append(started_event(shared, job, Redactor()))
        named = [(entry.attempt, entry.task_id) for entry in open_ones]
        for attempt, task_id in [*named, *((job.attempt, job.task.task_id) for job in unknown)]:
            event = {"event": "attempt_interrupted", "attempt": attempt}
            journal.append({**event, "lost": how[attempt]} if attempt in how else event)
            tell({**event, "task_id": task_id})


def _report(run: RunFolder, index: RunIndex) -> CollectReport:
    outcomes = Counter(entry.outcome or "interrupted" for entry in index.attempts)
    return CollectReport(len(index.attempts), dict(sorted(outcomes.items())), str(run.path), index.damage)
