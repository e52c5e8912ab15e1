"""Honest work that looks unusual: it solves the task, and a grader that refuses it punishes the wrong agents.

`solutions` are ways to write the fix, `surroundings` what people leave or change around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.execution.trees import difference, load_tree
from redtogreen.grading import is_protected
from redtogreen.records import Task
from redtogreen.redteam.attack import Target
from redtogreen.redteam.honest.solutions import SOLUTIONS
from redtogreen.redteam.honest.surroundings import SURROUNDINGS
from redtogreen.redteam.shapes import Shape
from redtogreen.store import BlobStore

KINDS = (*SOLUTIONS, *SURROUNDINGS)


@dataclass(frozen=True)
class Variant:
    """One honest way to solve a task."""

    kind: str
    changes: Changes
    """Against the start state."""


def variants_of_shape(shape: Shape) -> Iterator[Variant]:
    """Every kind of honest work on a project of the corpus."""
    for kind, write in SOLUTIONS.items():
        yield Variant(kind, _encoded(write(shape)))
    plain = _encoded({shape.source: shape.solved[shape.source]})
    for kind, surround in SURROUNDINGS.items():
        yield Variant(kind, surround(shape.target()) | plain)


def variants_of_task(task: Task, target: Target, store: BlobStore) -> Iterator[Variant]:
    """A task's reference as it is, and with each kind of surroundings. Nothing for a task without a reference."""
    if task.reference is None:
        return
    start, solved = (load_tree(name, store) for name in (task.start_state.tree or "", task.reference.tree))
    changes = difference(start, solved, store)
    plain = {path: change for path, change in changes.items() if not is_protected(task, path)}
    yield Variant("plain", plain)
    for kind, surround in SURROUNDINGS.items():
        yield Variant(kind, surround(target) | plain)


def _encoded(files: dict[str, str]) -> Changes:
    return {path: FileChange("file", text.encode()) for path, text in files.items()}
