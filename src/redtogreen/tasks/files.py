"""Tasks files: NAME.jsonl, NAME.blobs/ (trees, contents, environments) and NAME.rejected.jsonl beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from redtogreen.errors import RecordError, TaskError, UsageError, nearest
from redtogreen.execution.trees import copy_tree
from redtogreen.records import Task, read_rows, write_jsonl
from redtogreen.records.base import Record
from redtogreen.records.ids import pick
from redtogreen.records.jsonl import RowError
from redtogreen.records.kinds import check_kind
from redtogreen.store import BlobStore


class Reject(Record, kw_only=True, omit_defaults=True):
    """One candidate that did not become a task."""

    task_id: str
    reason: str
    """Short and countable, for example `survived`."""
    detail: str | None = None
    """What was seen."""
    project: str | None = None
    operator: str | None = None


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name.removesuffix(".jsonl") + ending)


def blobs_of(path: Path) -> BlobStore:
    """The blobs that belong to a tasks file."""
    return BlobStore(_beside(Path(path), ".blobs"))


def rejects_path(path: Path) -> Path:
    """Where the rejects of a tasks file lie."""
    return _beside(Path(path), ".rejected.jsonl")


def progress_path(path: Path) -> Path:
    """Where an unfinished admission keeps what it has proven so far."""
    return _beside(Path(path), ".progress")


def read_tasks(path: Path) -> list[Task]:
    """Every task of a file, in order.

    Raises UsageError when there is no such file, RecordError (naming file, line and field) for a line that is not a
    valid task and for an id that stands twice.
    """
    path = Path(path)
    if not path.is_file():
        near = nearest(path.name, [other.name for other in path.parent.glob("*.jsonl")])
        raise UsageError(
            f"there is no tasks file {path}",
            f"did you mean {path.parent / near}?"
            if near
            else "make one with: redtogreen tasks make mutate PATH --out F.jsonl",
        )
    check_kind(path, "tasks")
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for number, row in read_rows(path, Task):
        if isinstance(row, RowError):
            raise row
        if row.task_id in lines:
            raise RowError(
                str(path),
                number,
                "task_id",
                f"{row.task_id!r} stands on line {lines[row.task_id]} already",
                "give each task its own id",
            )
        _check_names(path, number, row)
        lines[row.task_id] = number
        tasks.append(row)
    return tasks


_NAME = re.compile(r"sha256:[0-9a-f]{64}")


def _check_names(path: Path, number: int, task: Task) -> None:
    """Raise RowError for a content hash that is none."""
    named = {
        "start_state.tree": task.start_state.tree,
        "reference.tree": task.reference.tree if task.reference else None,
        "environment": task.environment,
    }
    for field, name in named.items():
        if name is not None and not _NAME.fullmatch(name):
            raise RowError(
                str(path), number, field, f"not a content hash: {name!r}", "it looks like sha256:<64 hex digits>"
            )


def write_tasks(path: Path, tasks: Iterable[Task]) -> int:
    """Write a tasks file, whole or not at all; returns how many tasks it holds."""
    return write_jsonl(Path(path), tasks)


def write_rejects(path: Path, rejects: Iterable[Reject]) -> int:
    """Write the rejects beside the tasks file `path`; returns how many."""
    return write_jsonl(rejects_path(path), rejects)


def read_rejects(path: Path) -> list[Reject]:
    """The rejects beside the tasks file `path`; none when there is no such file."""
    place = rejects_path(path)
    if not place.exists():
        return []
    rejects = []
    for _, row in read_rows(place, Reject):
        if isinstance(row, RowError):
            raise row
        rejects.append(row)
    return rejects


def find_task(name: str) -> tuple[Task, BlobStore]:
    """The task `G.jsonl#ID` names, and the blobs beside its file. An unambiguous part of an id is enough.

    Raises UsageError for a missing file, an unknown id (with the nearest ones) and a part that fits several.
    """
    file, mark, wanted = name.rpartition("#")
    if not mark or not wanted or not file:
        raise UsageError(
            f"{name!r} does not name a task", "write FILE.jsonl#ID; see the ids with: redtogreen tasks list FILE.jsonl"
        )
    path = Path(file)
    tasks = read_tasks(path)
    see = f"redtogreen tasks list {path}"
    return tasks[pick(wanted, [task.task_id for task in tasks], "tasks", str(path), see=see)], blobs_of(path)


def copy_blobs(task: Task, source: BlobStore, target: BlobStore) -> None:
    """Bring everything a task needs into another store: its trees, its environment, what `extra` names."""
    if source.root == target.root:
        return
    if task.start_state.tree is None:
        raise RecordError(f"task {task.task_id} names no start tree", "make it again with: redtogreen tasks make")
    copy_tree(task.start_state.tree, source, target)
    if task.reference:
        copy_tree(task.reference.tree, source, target)
    for blob in (task.environment, task.extra.get("project")):
        if isinstance(blob, str):
            target.copy_from(source, blob)


def join_tasks(files: Iterable[Path], out: Path) -> int:
    """All tasks of several files in one, with their blobs; returns how many. Raises TaskError when two share an id."""
    joined: dict[str, Task] = {}
    for file in files:
        for task in read_tasks(file):
            if task.task_id in joined:
                raise TaskError(f"{file}: task {task.task_id} stands in another file too", "join each file once")
            joined[task.task_id] = task
            copy_blobs(task, blobs_of(file), blobs_of(out))
    return write_tasks(out, joined.values())
