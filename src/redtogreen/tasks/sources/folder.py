"""One candidate task from a folder of the user's: its state now, and a reference folder in which it is solved."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from redtogreen.errors import UsageError, nearest
from redtogreen.execution.environments import open_project
from redtogreen.execution.trees import patch, save_tree, scan_folder, select
from redtogreen.grading import is_protected
from redtogreen.records import Provenance, Reference, StartState, Task, TestSets
from redtogreen.store import scratch
from redtogreen.tasks.files import blobs_of, write_tasks
from redtogreen.tasks.sources.mutate import MakeReport, in_tests, protected_patterns, store_project


def make_folder_task(
    folder: Path, out: Path, *, tests: Sequence[str], reference: Path | None = None, describe: str | None = None
) -> MakeReport:
    """Write a tasks file `out` with one candidate.

    `tests` are paths relative to the folder, files or folders; they count as they stand in `reference` where given.
    `describe` is what the agent is told; without it the description is written from what fails, at admission. A task
    without a reference cannot be admitted. Raises UsageError for a folder or test path that does not exist.
    """
    for place in (folder, reference):
        if place is not None and not Path(place).is_dir():
            raise UsageError(f"{place} is not a folder", "give the project's own folder")
    if not tests:
        raise UsageError("no test path was given", "name the tests that decide with --tests PATH")
    store = blobs_of(Path(out))
    solved = Path(reference) if reference else Path(folder)
    start, notes = scan_folder(Path(folder), store)
    solution, more = scan_folder(solved, store)
    wanted = [test.rstrip("/").removeprefix("./") or "." for test in tests]
    for test in wanted:
        if not any(in_tests(path, [test]) for path in solution.entries):
            places = {path[:at] for path in solution.entries for at in (*_slashes(path), len(path))}
            near = nearest(test, sorted(places))
            raise UsageError(f"{solved} holds no tests at {test!r}", f"did you mean {near!r}?" if near else None)
    with scratch() as work:
        project = dataclasses.replace(open_project(solved, work), test_paths=wanted, origin="folder")
        described = store_project(project, store)
        protected = protected_patterns(dataclasses.replace(project, root=solved))
    task = Task(
        task_id=f"{project.name}/folder/{start.hash.removeprefix('sha256:')[:6]}",
        kind="issue" if describe else "fix",
        source="folder",
        task_desc=describe or "",
        provenance=Provenance(
            project=project.name, version=project.version, license=project.license, origin=project.origin
        ),
        start_state=StartState(tree=save_tree(start, store), branch="main"),
        tests=TestSets(),
        protected=protected,
        extra={"project": described},
    )
    if reference:
        keep = lambda path: not is_protected(task, path)  # noqa: E731
        changed = patch(select(start, keep), select(solution, keep), store)
        task.reference = Reference(tree=save_tree(solution, store), patch=changed)
    return MakeReport(
        candidates=1, written=write_tasks(Path(out), [task]), notes=sorted({*notes, *more, *project.notes})
    )


def _slashes(path: str) -> list[int]:
    return [at for at, letter in enumerate(path) if letter == "/"]
