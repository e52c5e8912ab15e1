"""Twins per test, and what a grade costs beside a cold pytest run of the same tests, on admitted tasks.

    python -m benchmarks.grading toolz.admitted.jsonl [more.jsonl ...] [--tasks 8]

The plain run is `python -m pytest` of the environment, cold, in the same sandbox, with the reward and evaluation tests
of the task; the grade is of the reference's changes, in a process that has graded before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from pathlib import Path

import pytest

from redtogreen.execution.environments import open_workspace
from redtogreen.execution.testruns import run_tests
from redtogreen.execution.trees import checkout, difference, load_tree, save_tree
from redtogreen.grading import grade, grading_seconds, grading_tree, is_protected, sandbox_limits
from redtogreen.grading.twins import prove_twins
from redtogreen.grading.twins.flips import STRONG
from redtogreen.grading.twins.proving import read_test_files
from redtogreen.grading.workspace import load_task_environment
from redtogreen.records import Task
from redtogreen.store import BlobStore
from redtogreen.tasks.files import blobs_of, read_tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--tasks", type=int, default=8)
    arguments = parser.parse_args()
    print(f"pytest {pytest.__version__}")
    print("project          tests  strong twin   any twin   proof s   cold s   grade s   ratio   solved")
    for file in arguments.files:
        _measure(read_tasks(file)[: arguments.tasks], blobs_of(file))


def _measure(tasks: list[Task], store: BlobStore) -> None:
    start = time.perf_counter()
    covered = _coverage(tasks[0], store)
    proof = time.perf_counter() - start
    cold, graded, outcomes = [], [], Counter[str]()
    for task in tasks:
        assert task.reference is not None
        before, after = load_tree(str(task.start_state.tree), store), load_tree(task.reference.tree, store)
        changes = {
            path: change for path, change in difference(before, after, store).items() if not is_protected(task, path)
        }
        grade(task, changes, store)
        for _ in range(3):
            cold.append(_cold(task, store))
            start = time.perf_counter()
            outcomes[grade(task, changes, store).outcome] += 1
            graded.append(time.perf_counter() - start)
    tests = covered["tests"]
    plain, ours = statistics.median(cold), statistics.median(graded)
    print(
        f"{tasks[0].provenance.project:15} {tests:6} {covered['strong'] / tests:11.0%} {covered['any'] / tests:10.0%}"
        f" {proof:9.1f} {plain:8.2f} {ours:9.2f} {ours / plain:7.2f}   {dict(outcomes)}",
        flush=True,
    )


def _coverage(task: Task, store: BlobStore) -> Counter[str]:
    """Of the ids in all test files that hold reward tests."""
    assert task.reference is not None
    tree, environment = load_tree(task.reference.tree, store), load_task_environment(task, store)
    wanted = [*task.tests.f2p, *task.tests.p2p]
    paths = sorted({test.partition("::")[0] for test in wanted})
    proven = prove_twins(tree, paths, environment, store, sandbox_limits(task, 10 * grading_seconds(task)))
    files = read_test_files(tree, paths, store)
    found: Counter[str] = Counter(tests=len(wanted))
    for test in wanted:
        path, _, rest = test.partition("::")
        key = files[path].locate(rest) if path in files else None
        kinds = {one.kind for one in proven.files[path].twins.get(key, [])} if key is not None else set()
        found["any"] += bool(kinds)
        found["strong"] += bool(kinds & set(STRONG))
    return found


def _cold(task: Task, store: BlobStore) -> float:
    assert task.reference is not None
    tree = grading_tree(task, store)
    solved = load_tree(task.reference.tree, store)
    changes = difference(tree, solved, store)
    limits = sandbox_limits(task, grading_seconds(task))
    tests = [*task.tests.f2p, *task.tests.p2p, *task.tests.evaluation]
    lower = checkout(save_tree(tree, store), store)
    start = time.perf_counter()
    with open_workspace(load_task_environment(task, store), lower, changes=changes, limits=limits) as sandbox:
        sandbox.preload = None
        run_tests(sandbox, tests, seconds=limits.seconds)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
