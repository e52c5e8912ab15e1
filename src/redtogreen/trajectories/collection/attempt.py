"""One attempt, in a worker process: sandbox, agent, grader, journal."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from redtogreen import __version__, registry
from redtogreen.errors import AgentError, ModelError, RedToGreenError
from redtogreen.execution.environments import open_workspace
from redtogreen.execution.executors.worker import Ended
from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.execution.sandboxes.guarantees import tier_of
from redtogreen.execution.trees import difference, load_tree
from redtogreen.grading.grade import grade
from redtogreen.grading.overlay import is_protected
from redtogreen.grading.workspace import load_workspace, refuse_weaker, sandbox_limits
from redtogreen.protocols import Agent, AgentSettings, AttemptEnded
from redtogreen.records import Branch, Ending, FinalState, Grade, Metadata, Probe, Score, Task, TestSummary, Trajectory
from redtogreen.records.grade import REWARDED
from redtogreen.store import BlobStore
from redtogreen.trajectories.collection.origin import Origin, read_origin
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.recording.journal import JournalWriter
from redtogreen.trajectories.recording.probe import Prober
from redtogreen.trajectories.recording.recorder import RecordingWorkspace
from redtogreen.trajectories.recording.redaction import Redactor

Emit = Callable[[dict[str, Any]], None]
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
SWALLOWED = 5
"""Times an agent may catch the end of its time and go on before it is judged without coming back."""
ABANDONED = 70
"""Exit status of a worker that has recorded and judged the attempt of an agent that never came back."""
COMMAND_SECONDS = 60.0
"""Wall clock of one command an agent runs."""


@dataclass(frozen=True)
class AttemptSettings:
    """What all attempts of a run share. Travels to the workers."""

    run: str
    agent: str
    temperature: float
    options: Mapping[str, str]
    scorer: Callable[[Trajectory], Score] | None = None
    branch: Branch | None = None
    """Where they begin, if not at the start of their task; the run's folder holds it."""


@dataclass(frozen=True)
class AttemptJob:
    """One attempt to make."""

    attempt: str
    task: Task
    index: int
    seed: int
    retry: int = 0


@dataclass
class _Course:
    """How one attempt went."""

    steps: RecordingWorkspace | None = None
    changes: Changes = field(default_factory=dict)
    sandbox: dict[str, Any] = field(default_factory=dict)
    ending: Ending = "stopped"
    agent_error: str | None = None
    machine_error: str | None = None


def run_attempt(settings: AttemptSettings, job: AttemptJob, emit: Emit) -> dict[str, Any]:
    """Make one attempt and record it; returns its outcome and reward.

    Raises what must stop the collection: a disk that takes no more records, wrong options of the agent, a scorer that
    fails (after the attempt was recorded). Everything else is part of the record.
    """
    run = RunFolder(Path(settings.run))
    store, prober, journal = tools = _tools(settings.run)
    task, began = job.task, time.monotonic()
    redactor = Redactor()
    course = _Course()
    agent: Agent | None = None
    try:
        agent = _agent(settings, job, store)
    except AgentError as error:  # for example the oracle on a task without a reference
        course.agent_error = _said(error)
    start_probe: Probe | None = None
    try:
        start_probe = prober.start(task)
    except (RedToGreenError, OSError) as error:
        _stop_for_full_disk(error)
        course.machine_error = _said(error)
    started = started_event(settings, job, redactor, agent.version if agent else None, start_probe)
    journal.append(started)
    emit({"event": "attempt_started", "attempt": job.attempt, "task_id": task.task_id, "index": job.index})

    def finish() -> tuple[dict[str, Any], Exception | None]:
        verdict = None if course.machine_error else grade(task, course.changes, store)
        row = _trajectory(task, job, started, course, verdict, redactor)
        row.metadata.seconds = round(time.monotonic() - began, 3)
        failure = _score(row, settings)
        recorded = msgspec.to_builtins(row)
        recorded["trajectory"] = []
        journal.append(
            {"event": "attempt_finished", "attempt": job.attempt, "outcome": row.outcome, "trajectory": recorded}
        )
        summary = {"attempt": job.attempt, "task_id": task.task_id, "outcome": row.outcome, "reward": row.reward}
        emit({"event": "attempt_finished", **summary, "steps": len(row.trajectory)})
        return summary, failure

    if agent is not None and course.machine_error is None:
        origin = read_origin(run.origin_file, run.blobs) if settings.branch is not None else None
        _work(course, agent, job, run, tools, redactor, emit, finish, origin)
    summary, failure = finish()
    if failure is not None:
        raise failure
    return summary


def started_event(
    settings: AttemptSettings,
    job: AttemptJob,
    redactor: Redactor,
    agent_version: str | None = None,
    start_probe: Probe | None = None,
) -> dict[str, Any]:
    """The first record of an attempt."""
    task = job.task
    metadata = Metadata(
        agent=settings.agent,
        agent_version=agent_version,
        sampling={"temperature": settings.temperature, "options": dict(settings.options)},
        seed=job.seed,
        index=job.index,
        retry=job.retry,
        branch=settings.branch,
        project=task.provenance.project,
        environment=task.environment,
        recorder=__version__,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return {
        "event": "attempt_started",
        "attempt": job.attempt,
        "task_id": task.task_id,
        "index": job.index,
        "retry": job.retry,
        "task_desc": redactor.text(task.task_desc),
        "start_state": msgspec.to_builtins(task.start_state),
        "metadata": msgspec.to_builtins(metadata),
        "extra": _task_facts(task, start_probe),
    }


@cache
def _tools(run: str) -> tuple[BlobStore, Prober, JournalWriter]:
    """What this worker process keeps from attempt to attempt; a journal has one writer, so each process has its own."""
    folder = RunFolder(Path(run))
    return folder.task_blobs, Prober(folder.task_blobs), folder.new_journal("worker")


def _agent(settings: AttemptSettings, job: AttemptJob, store: BlobStore) -> Agent:
    factory = registry.load("agents", settings.agent)
    reference = reference_changes(job.task, store) if getattr(factory, "needs_reference", False) else None
    return factory(AgentSettings(job.seed, settings.temperature, settings.options, reference))


def reference_changes(task: Task, store: BlobStore) -> Changes | None:
    """What turns the start state into the reference solution, tests and their configuration left out; None: nothing."""
    if task.reference is None:
        return None
    changes = difference(load_tree(str(task.start_state.tree), store), load_tree(task.reference.tree, store), store)
    return {path: change for path, change in changes.items() if not is_protected(task, path)}


def _work(
    course: _Course,
    agent: Agent,
    job: AttemptJob,
    run: RunFolder,
    tools: tuple[BlobStore, Prober, JournalWriter],
    redactor: Redactor,
    emit: Emit,
    finish: Callable[[], object],
    origin: Origin | None,
) -> None:
    """Let the agent work in its sandbox; the sandbox is gone when this returns.

    `finish` records and judges the attempt of an agent that never comes back; the process ends after it.
    """
    store, prober, journal = tools
    try:
        environment, lower = load_workspace(job.task, store)
        limits = sandbox_limits(job.task, min(COMMAND_SECONDS, job.task.limits.seconds))
        changes = None if origin is None else origin.changes()
        with open_workspace(environment, lower, changes=changes, limits=limits) as sandbox:
            course.sandbox = {"tier": tier_of(sandbox.guarantees), "guarantees": dict(sandbox.guarantees)}
            refuse_weaker(job.task, sandbox)
            workspace = RecordingWorkspace(
                job.task,
                sandbox,
                attempt=job.attempt,
                store=store,
                blobs=run.blobs,
                journal=journal,
                prober=prober,
                redactor=redactor,
                emit=emit,
            )
            course.steps = workspace
            if origin is not None:
                workspace.resume(origin.steps)

            def abandon() -> NoReturn:
                try:
                    course.ending = workspace.end("limit_seconds").ending
                    course.changes = sandbox.changes()
                    sandbox.close()
                    finish()
                except BaseException:  # the attempt stays open in the journal
                    traceback.print_exc()
                finally:
                    os._exit(ABANDONED)

            course.ending = _run_agent(agent, workspace, course, abandon)
            course.changes = sandbox.changes()
    except (RedToGreenError, OSError) as error:
        _stop_for_full_disk(error)
        course.machine_error = _said(error)


def _run_agent(agent: Agent, workspace: RecordingWorkspace, course: _Course, abandon: Callable[[], NoReturn]) -> Ending:
    try:
        with _deadline(workspace, abandon):
            agent.run(workspace)
    except AttemptEnded as ended:
        workspace.end(ended.ending)
    except (ModelError, Ended):
        raise
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:  # whatever an agent raises is its own
        if workspace.failure is None:  # the agent's own fault; what it did is judged all the same
            course.agent_error = _said(error)
            workspace.end("stopped")
    if workspace.failure is not None:
        raise workspace.failure
    return workspace.end("gave_up" if workspace.steps_left else "limit_steps").ending


@contextlib.contextmanager
def _deadline(workspace: RecordingWorkspace, abandon: Callable[[], NoReturn]) -> Iterator[None]:
    """Interrupt an agent that does not come back by itself; never in the middle of a step.

    `abandon` is called, above the agent's own frames, when it goes on whatever is raised in it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    swallowed = 0

    def late(number: int, frame: Any) -> None:
        nonlocal swallowed
        left = workspace.seconds_left
        if left > 0 or workspace.busy:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.05))
        else:
            swallowed += 1
            if swallowed > SWALLOWED:
                signal.setitimer(signal.ITIMER_REAL, 0)
                abandon()
            signal.setitimer(signal.ITIMER_REAL, 1.0)
            raise workspace.end("limit_seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(workspace.seconds_left, 0.05))
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGALRM) is late:  # else the process is being ended and the timer is not ours
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _trajectory(
    task: Task,
    job: AttemptJob,
    started: dict[str, Any],
    course: _Course,
    verdict: Grade | None,
    redactor: Redactor,
) -> Trajectory:
    steps = course.steps
    metadata = msgspec.convert(started["metadata"], Metadata)
    outcome = "environment_error" if verdict is None else verdict.outcome
    error = course.machine_error or course.agent_error or (verdict.error if verdict else None)
    summary = None
    if verdict is not None and outcome in REWARDED:
        passed = sum(status == "passed" for status in verdict.tests.values())
        summary = TestSummary(passed=passed, failed=len(verdict.tests) - passed)
    patch, kept = "", None
    if steps is not None and verdict is not None:
        patch, kept = steps.keep_final(course.changes)
    elif steps is not None:
        patch = steps.final_patch()
    if verdict is not None:
        verdict = msgspec.convert(redactor.value(msgspec.to_builtins(verdict)), Grade)
    metadata.sandbox = course.sandbox
    metadata.grade = verdict
    metadata.error = None if error is None else redactor.text(error)
    metadata.redactions, metadata.personal = redactor.count, redactor.personal
    metadata.redacted_files = sorted(steps.redacted_files) if steps else []
    return Trajectory(
        task_id=task.task_id,
        attempt=job.attempt,
        task_desc=started["task_desc"],
        start_state=task.start_state,
        trajectory=steps.steps if steps else [],
        final_state=FinalState(
            patch=patch,
            test_summary=summary,
            tree=steps.tree if steps else task.start_state.tree,
            changes=kept,
        ),
        outcome=outcome,
        ending=course.ending,
        success=outcome == "solved" if outcome in REWARDED else None,
        metadata=metadata,
        extra=started["extra"],
    )


def _task_facts(task: Task, start_probe: Probe | None) -> dict[str, Any]:
    """What rewards, cleaning and datasets must know of the task, so that a row can be judged by itself."""
    facts: dict[str, Any] = {"tests": {"f2p": task.tests.f2p}, "use": task.use}
    if task.provenance.license:
        facts["license"] = task.provenance.license
    if start_probe is not None:
        facts["start_probe"] = msgspec.to_builtins(start_probe)
    return facts


def _score(row: Trajectory, settings: AttemptSettings) -> Exception | None:
    """Fill in reward and components; returns the scorer's failure, which must not cost the attempt."""
    if settings.scorer is None:
        return None
    try:
        score = settings.scorer(row)
    except Exception as error:
        return error
    row.reward = score.reward
    row.rewards = {} if score.reward is None else {one.name: one.value for one in score.components}
    return None


def _stop_for_full_disk(error: BaseException) -> None:
    """Go on raising when the disk takes no more: then nothing could be recorded, so the collection must stop."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in _DISK_ERRORS:
        raise error


def _said(error: BaseException) -> str:
    said = f"{type(error).__name__}: {getattr(error, 'message', error)}"
    return said.encode("utf-8", "backslashreplace").decode()
