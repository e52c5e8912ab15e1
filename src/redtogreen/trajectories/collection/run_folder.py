"""The folder of one collection.

RUN/
  run.toml                resolved settings; the same command with the same settings continues the run
  tasks.jsonl             the tasks, with tasks.blobs/ beside them: the folder stands on its own
  origin.jsonl            where the attempts begin, if not at the start of their task
  journal/<writer>.rtgj   what happened, one file per writing process: the authority
  blobs/                  long texts by their hash
  trajectories.parquet/   finished attempts, scalars       steps/plan-*.parquet, steps/coding-*.parquet   the steps
  lock                    held while a collection runs; names its process
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from redtogreen.errors import RecordError, UsageError
from redtogreen.grading import check_gradable
from redtogreen.records import Task
from redtogreen.records.canonical import digest
from redtogreen.store import BlobStore, disk_errors, write_atomic
from redtogreen.tasks.files import blobs_of, copy_blobs, read_tasks
from redtogreen.trajectories.recording.journal import JournalWriter, sync_folder

_OURS = {"run.toml", "tasks.jsonl", "tasks.blobs", "origin.jsonl", "journal", "blobs", "lock"}
_LOCK_PATIENCE = 15.0
"""Seconds to wait for the workers of a killed collection to end."""


class RunFolder:
    """Paths and settings of a run."""

    def __init__(self, path: Path):
        self.path = Path(path)
        self.settings_file = self.path / "run.toml"
        self.tasks_file = self.path / "tasks.jsonl"
        self.origin_file = self.path / "origin.jsonl"
        self.journals = self.path / "journal"
        self.tables = self.path / "trajectories.parquet"
        self.steps = self.path / "steps"
        self.blobs: BlobStore = DurableBlobs(self.path / "blobs")
        self.task_blobs = blobs_of(self.tasks_file)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run. Raises UsageError when there is none."""
        run = cls(path)
        if not is_run(path):
            what = (
                "is not a run folder: it holds no run.toml of a collection" if run.path.exists() else "does not exist"
            )
            raise UsageError(f"{path} {what}", "make one with: redtogreen collect TASKS.jsonl --agent NAME --out RUN")
        return run

    def settings(self) -> dict[str, Any]:
        """The settings the run was made with."""
        try:
            settings = tomllib.loads(self.settings_file.read_text("utf-8")).get("collection")
        except ValueError as error:
            raise RecordError(f"{self.settings_file} is not valid TOML: {error}", "restore it from a copy") from None
        if not isinstance(settings, dict):
            raise UsageError(
                f"{self.settings_file} holds no settings of a collection (a table `[collection]`)",
                "choose a new folder with --out",
            )
        return settings

    def tasks(self) -> list[Task]:
        """The tasks the run was made with. Raises RecordError when they are gone."""
        if not self.tasks_file.exists():
            raise RecordError(
                f"{self.tasks_file} is missing: a run holds its own tasks",
                "restore it from a copy, with tasks.blobs/ beside it",
            )
        return read_tasks(self.tasks_file)

    def check_place(self) -> None:
        """Refuse a folder that holds something else. Raises UsageError naming it."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file", "choose a folder with --out")
        if self.path.exists() and not is_run(self.path):
            foreign = sorted(name for name in os.listdir(self.path) if name not in _OURS and name[:1] != ".")
            if foreign:
                raise UsageError(
                    f"{self.path} is no run folder: it holds {foreign[0]!r}", "choose a new folder with --out"
                )

    def prepare(self, tasks: Path, settings: dict[str, Any]) -> list[Task]:
        """Make the folder, or check that it was made with the same settings; returns the tasks.

        Call with the lock held. Raises UsageError naming the first setting that differs.
        """
        if self.settings_file.exists():
            self._same(settings)
            self._sweep()
            return self.tasks()
        self._sweep()
        rows = read_tasks(tasks)
        if not rows:
            raise UsageError(f"{tasks} holds no tasks", "admit some with: redtogreen tasks admit F.jsonl --out G.jsonl")
        if unproven := [row.task_id for row in rows if row.environment is None]:
            raise UsageError(
                f"{len(unproven)} of {len(rows)} tasks in {tasks} are not admitted yet, for example {unproven[0]}",
                f"prove them first with: redtogreen tasks admit {tasks} --out G.jsonl",
            )
        for row in rows:
            check_gradable(row, blobs_of(tasks))
        with disk_errors(self.path):
            target = _Linking(self.task_blobs.root)
            for row in rows:
                copy_blobs(row, blobs_of(tasks), target)
            write_atomic(self.tasks_file, tasks.read_bytes(), durable=True)
            write_atomic(self.settings_file, msgspec.toml.encode({"collection": settings}), durable=True)
            sync_folder(self.path)
        return rows

    def _same(self, settings: dict[str, Any]) -> None:
        before = self.settings()
        for field in sorted((before.keys() | settings.keys()) - {"tasks"}):
            if before.get(field) != settings.get(field):
                what = f"`{field}` was {before.get(field)!r}, now it is {settings.get(field)!r}"
                if field == "tasks_hash":
                    what = f"`tasks` holds other tasks now ({settings.get('tasks')})"
                raise UsageError(
                    f"{self.path} was started with other settings: {what}",
                    "give the settings in its run.toml to continue it, or choose a new folder with --out",
                )

    def _sweep(self) -> None:
        """Remove the half-written files of processes that were killed; nobody else writes while we hold the lock."""
        for folder in (self.path, self.tables, self.steps):
            for stale in folder.glob(".writing-*"):
                stale.unlink(missing_ok=True)
        for store in (self.blobs, self.task_blobs):
            for stale in store.root.glob("*/.writing-*"):
                stale.unlink(missing_ok=True)

    def new_journal(self, role: str) -> JournalWriter:
        """A journal of this process."""
        return JournalWriter(self.journals / f"{role}-{os.getpid()}-{time.time_ns()}.rtgj")

    def journal_files(self) -> list[Path]:
        """The journals, in the order of their names. Raises RecordError when there should be some and are none."""
        if not self.journals.is_dir() and self.tables.is_dir():
            raise RecordError(
                f"{self.journals} is missing: it holds the record of every attempt",
                "restore it from a copy; a run folder is copied whole",
            )
        return sorted(self.journals.glob("*.rtgj"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the run for one collection; yields the lock's descriptor, which workers inherit and so hold too.

        Raises UsageError naming the process when another collection has it.
        """
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._acquire(handle)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield handle
        finally:
            os.close(handle)

    def _acquire(self, handle: int) -> None:
        deadline = time.monotonic() + _LOCK_PATIENCE
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            said = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
            if _alive(said) or time.monotonic() > deadline:
                raise UsageError(
                    f"{self.path} is in use by process {said or '(unknown)'}",
                    "wait until it is done, or end that process",
                )
            time.sleep(0.05)  # its process is gone, its workers are just ending


def is_run(path: Path) -> bool:
    """Whether a folder holds a collection."""
    try:
        return isinstance(tomllib.loads((Path(path) / "run.toml").read_text("utf-8")).get("collection"), dict)
    except (OSError, ValueError):
        return False


def _alive(pid: str) -> bool:
    try:
        state = Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return False
    return state not in ("Z", "X")


class DurableBlobs(BlobStore):
    """Blobs that are on the disk before their name is given out, since a journal is going to mention it."""

    def put(self, content: bytes) -> str:
        name = digest(content)
        path = self._path(name)
        if not path.exists():
            write_atomic(path, zstandard.ZstdCompressor(level=3).compress(content), durable=True)
            sync_folder(path.parent)
        return name


class _Linking(BlobStore):
    """Takes blobs over by hard links where both lie on one file system; blobs never change."""

    def copy_from(self, other: BlobStore, name: str) -> None:
        source, target = other._path(name), self._path(name)
        if target.exists() or not source.exists():
            super().copy_from(other, name)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:
            temporary = target.with_name(f".writing-{target.name}")
            shutil.copyfile(source, temporary)
            os.replace(temporary, target)
