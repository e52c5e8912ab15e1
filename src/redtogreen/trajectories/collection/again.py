"""A recorded run once more: its workspaces graded again, an attempt played again, or gone on with after a step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from redtogreen.errors import UsageError
from redtogreen.execution.executors.local import run_jobs
from redtogreen.grading.grade import grade
from redtogreen.grading.patches import grade_patch
from redtogreen.records import Grade, Score, Task, Trajectory, write_jsonl
from redtogreen.records.canonical import canonical_trajectory
from redtogreen.records.grade import REWARDED
from redtogreen.records.ids import pick
from redtogreen.tasks.files import blobs_of, write_tasks
from redtogreen.trajectories.collection.collect import CollectReport, collect
from redtogreen.trajectories.collection.load import AttemptEntry, index_run, load_attempt, load_run
from redtogreen.trajectories.collection.origin import Origin
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.recording.kept_changes import load_changes
from redtogreen.trajectories.recording.workspace_state import UNSHOWN

Emit = Callable[[dict[str, Any]], None]


def grade_again(run: Path, on_event: Emit | None = None, *, workers: int | None = None) -> list[Grade]:
    """The verdict on the recorded final workspace of every attempt, each in a fresh sandbox, in the order of the run.

    Attempts that ended in a failure of the machine keep their outcome. Those whose record does not hold the workspace
    (a secret was replaced in a file; or it is an older one without the changed files, and one of them is no text) are
    `grader_error`, with the reason. `on_event` is told of "grade_finished".
    """
    folder = RunFolder.open(run)
    tasks = {task.task_id: task for task in folder.tasks()}
    jobs = ((number, tasks[entry.task_id], entry) for number, entry in enumerate(index_run(folder).attempts))
    grades: dict[int, Grade] = {}
    work = partial(_grade_one, str(folder.path))
    for (number, _, entry), result in run_jobs(work, jobs, workers or len(os.sched_getaffinity(0))):
        if isinstance(result, BaseException):
            error = f"{type(result).__name__}: {result}"
            result = Grade(task_id=entry.task_id, outcome="grader_error", error=error)
        grades[number] = result
        if on_event is not None:
            on_event({"event": "grade_finished", "attempt": entry.attempt, "outcome": result.outcome})
    return [grades[number] for number in sorted(grades)]


def _grade_one(run: str, job: tuple[int, Task, AttemptEntry], emit: Emit) -> Grade:
    _, task, entry = job
    row = load_attempt(entry)
    if row.outcome not in REWARDED:
        error = row.metadata.error or "the attempt was interrupted"
        return Grade(task_id=task.task_id, outcome=row.outcome or "interrupted", error=error)
    folder = RunFolder(Path(run))
    kept = row.final_state.changes
    changes, redacted = load_changes(kept, folder.blobs) if kept else ({}, row.metadata.redacted_files)
    if redacted:
        error = f"secrets were replaced in the record of {', '.join(redacted)}"
        return Grade(task_id=task.task_id, outcome="grader_error", error=error)
    if kept:
        return grade(task, changes, folder.task_blobs)
    if UNSHOWN in row.final_state.patch:
        error = "the patch leaves out files that are no text, or too large"
        return Grade(task_id=task.task_id, outcome="grader_error", error=error)
    return grade_patch(task, row.final_state.patch, folder.task_blobs)


@dataclass(frozen=True)
class Replay:
    """How a replay compares with the attempt it repeats."""

    attempt: str
    steps: int
    same: bool
    outcome: str | None
    recorded_outcome: str | None
    differences: list[dict[str, Any]] = field(default_factory=list)
    """`step` and `what`: the part of the step that came out differently; step 0: the end of the attempt."""


def replay(run: Path, attempt: str, out: Path) -> Replay:
    """Play the recorded actions of an attempt in a fresh sandbox, as a run of its own in `out`.

    `attempt` is an id, an unambiguous part of one, or a row number from 1. Raises UsageError when there is no such
    attempt or its record is not complete because secrets were replaced in it.
    """
    folder, out = RunFolder.open(run), Path(out).absolute()
    row = find_attempt(folder, attempt)
    if row.metadata.redacted_files or "<SECRET:" in repr([step.params for step in row.trajectory]):
        raise UsageError(
            f"attempt {row.attempt} cannot be played again: secrets were replaced in its record",
            "replay an attempt without redactions",
        )
    task = _task_alone(folder, row.task_id, out / ".replay")
    write_jsonl(task.parent / "attempt.jsonl", [row])
    options = {"trajectory": f"{task.parent / 'attempt.jsonl'}#{row.attempt}"}
    collect(task, "replay", out, attempts=1, workers=1, seed=row.metadata.seed or 0, options=options)
    (*_, played) = load_run(out)
    differences = list(_differences(row, played))
    same = not differences and played.outcome == row.outcome
    return Replay(str(row.attempt), len(played.trajectory), same, played.outcome, row.outcome, differences)


def branch(
    run: Path,
    attempt: str,
    step: int,
    out: Path,
    *,
    agent: str | None = None,
    attempts: int = 3,
    workers: int | None = None,
    seed: int = 0,
    temperature: float | None = None,
    options: Mapping[str, str] | None = None,
    scorer: Callable[[Trajectory], Score] | None = None,
    on_event: Emit | None = None,
) -> CollectReport:
    """Make new attempts that go on after a step of a recorded one; 0: from the start of its task.

    They are a run of their own in `out`, which can be resumed and holds the shared steps too: these count towards the
    limit of steps, but their time does not count. An agent finds them in `Workspace.history`. Without `agent` the agent
    of `run` goes on, with its temperature and options where none are given. `attempt` as in `replay`. Raises as
    `collect`, and UsageError for a step that nobody can go on from.
    """
    folder, out = RunFolder.open(run), Path(out).absolute()
    row = find_attempt(folder, attempt)
    origin = Origin.at(row, step, folder.blobs, folder.task_blobs)
    before = folder.settings()
    if agent is None:
        agent, options = before["agent"], before["options"] if options is None else options
        temperature = before["temperature"] if temperature is None else temperature
    task = _task_alone(folder, row.task_id, out / ".branch")
    return collect(
        task,
        agent,
        out,
        attempts=attempts,
        workers=workers,
        seed=seed,
        temperature=temperature,
        options=options,
        scorer=scorer,
        origin=origin,
        on_event=on_event,
    )


def _task_alone(run: RunFolder, task_id: str, folder: Path) -> Path:
    """A tasks file in this folder with one task of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "task.jsonl"
    write_tasks(file, [task for task in run.tasks() if task.task_id == task_id])
    blobs = blobs_of(file).root
    if not blobs.is_symlink():
        blobs.symlink_to(run.task_blobs.root.absolute())
    return file


def find_attempt(run: RunFolder, name: str) -> Trajectory:
    """The attempt of an id, of an unambiguous part of one, or of a row number from 1. Raises UsageError."""
    entries = index_run(run).attempts
    names = [entry.attempt for entry in entries]
    return load_attempt(entries[pick(name, names, "attempts", str(run.path), numbered=True)])


_COMPARED = ("action", "observation", "feedback", "probe", "tree", "diff")


def _differences(recorded: Trajectory, played: Trajectory) -> Iterator[dict[str, Any]]:
    before, after = (canonical_trajectory(row)["trajectory"] for row in (recorded, played))
    before = [step for step in before if step["action"] != "other"]
    for old, new in zip(before, after, strict=False):
        for part in _COMPARED:
            if old.get(part) != new.get(part):
                yield {"step": old["step"], "what": part + _where(old.get(part), new.get(part))}
    if len(before) != len(after):
        yield {"step": 0, "what": f"{len(after)} steps instead of {len(before)}"}
    if recorded.outcome != played.outcome:
        yield {"step": 0, "what": f"outcome {played.outcome} instead of {recorded.outcome}"}


def _where(old: Any, new: Any) -> str:
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return ""
    return "." + ", ".join(sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)))
