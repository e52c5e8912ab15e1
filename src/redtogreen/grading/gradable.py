"""Whether work on a task can be judged at all: asked before anything is run."""

from __future__ import annotations

import re

from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.trees import load_tree, matches
from redtogreen.grading.overlay import is_protected
from redtogreen.records import Task
from redtogreen.store import BlobStore

_PATCHED = re.compile(r"^diff --git a/(.*) b/\1$", re.MULTILINE)


def check_gradable(task: Task, store: BlobStore) -> None:
    """Refuse a task that nothing could solve.

    Raises UsageError for one that was never admitted, TaskError for one whose protected paths cover what its solution
    changes.
    """
    if task.environment is None:
        raise UsageError(
            f"task {task.task_id} was never admitted: nothing can be judged on it yet",
            "prove it first with: redtogreen tasks admit F.jsonl --out G.jsonl",
        )
    covered = _covered(task, store)
    if covered:
        by = [pattern for pattern in task.protected if any(matches(path, [pattern]) for path in covered)]
        example = next((path for path in covered if matches(path, by)), covered[0])
        raise TaskError(
            f"task {task.task_id} cannot be solved: what its solution changes is protected"
            + (f" by {', '.join(by)}" if by else "")
            + f", for example {example}",
            "protect the tests only; tasks made by `redtogreen tasks make` do",
        )


def _covered(task: Task, store: BlobStore) -> list[str]:
    """Protected files that a solution would have to change; none when some of what it changes is open."""
    if task.start_state.tree is None or not store.has(task.start_state.tree):
        return []  # the grader says what is missing
    start = load_tree(task.start_state.tree, store).entries
    if task.reference is None or not store.has(task.reference.tree):
        changed = set(start)
    else:
        sets = task.tests
        tests = {name.split("::")[0] for name in (*sets.visible, *sets.f2p, *sets.p2p, *sets.evaluation)}
        patched = {path for path in _PATCHED.findall(task.reference.patch) if is_protected(task, path)} - tests
        if patched:
            return sorted(patched)
        solved = load_tree(task.reference.tree, store).entries
        changed = {path for path in start.keys() | solved.keys() if start.get(path) != solved.get(path)}
    return sorted(changed) if all(is_protected(task, path) for path in changed) else []
