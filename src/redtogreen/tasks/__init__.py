"""Material -> proven tasks: `sources` make candidates, `admission` proves them, `files` reads and writes them."""

from __future__ import annotations

from redtogreen.grading import load_workspace
from redtogreen.tasks.admission import AdmitReport, admit
from redtogreen.tasks.files import (
    Reject,
    blobs_of,
    find_task,
    read_rejects,
    read_tasks,
    rejects_path,
    write_rejects,
    write_tasks,
)
from redtogreen.tasks.sources import MakeReport, make_folder_task, make_mutants

__all__ = [
    "AdmitReport",
    "MakeReport",
    "Reject",
    "admit",
    "blobs_of",
    "find_task",
    "load_workspace",
    "make_folder_task",
    "make_mutants",
    "read_rejects",
    "read_tasks",
    "rejects_path",
    "write_rejects",
    "write_tasks",
]
