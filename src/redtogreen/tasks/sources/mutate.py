"""Bugs put into a project on purpose: any folder, git checkout or sdist with tests -> candidate tasks.

Nothing of the project is run here. What the tests notice is found out at admission.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path, PurePosixPath

from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.environments import Project, open_project
from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.execution.trees import Tree, apply_changes, patch, save_tree, scan_folder, select
from redtogreen.mutation import Mutation, choose, find_mutations
from redtogreen.records import Provenance, Reference, StartState, Task, TestSets
from redtogreen.records.canonical import canonical_json
from redtogreen.store import BlobStore, scratch
from redtogreen.tasks.files import blobs_of, write_tasks
from redtogreen.tasks.sources.reach import Reach


@dataclass
class MakeReport:
    """What a source made."""

    candidates: int = 0
    """How many were asked for."""
    written: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> count of places or files that could not be used."""
    sites: int = 0
    """Places the operators could change."""
    notes: list[str] = field(default_factory=list)
    """What a reader should know, one sentence each."""


def make_mutants(path: Path, out: Path, candidates: int = 40, seed: int = 0) -> MakeReport:
    """Write `candidates` candidate tasks made from one project to the tasks file `out`.

    The same project, number and seed give the same file. Fewer are written only when there are fewer places to change;
    the report's notes say so. Raises TaskError for a project without tests or without usable source files.
    """
    if candidates < 1:
        raise UsageError(f"cannot make {candidates} candidates", "give a number from 1 with --candidates")
    with scratch() as work:
        project = open_project(Path(path), work)
        return _make(project, Path(out), candidates, seed)


def _make(project: Project, out: Path, candidates: int, seed: int) -> MakeReport:
    store = blobs_of(out)
    tree, notes = scan_folder(project.root, store)
    report = MakeReport(candidates=candidates, notes=[*notes, *project.notes])
    sources = {path: store.get(tree.entries[path].name) for path in _usable(project, tree)}
    mutations: list[Mutation] = []
    unreadable: Counter[str] = Counter()
    for path, content in sources.items():
        try:
            mutations.extend(find_mutations(path, content))
        except TaskError as error:
            unreadable["unreadable source file"] += 1
            report.notes.append(error.message)
    report.sites, report.dropped = len(mutations), dict(unreadable)
    if not mutations:
        raise TaskError(
            f"{project.name}: no place to change in {len(sources)} source files" + _first(report.notes),
            "mutate needs Python functions outside tests, docs and setup files",
        )
    protected = protected_patterns(project)
    tests = {
        p: store.get(e.name) for p, e in tree.entries.items() if p.endswith(".py") and in_tests(p, project.test_paths)
    }
    chosen = choose(mutations, candidates, seed, reached=Reach(tests, sources))
    if len(chosen) < candidates:
        report.notes.append(f"{project.name}: only {len(chosen)} places to change, {candidates} were asked for")
    save_tree(tree, store)
    described = store_project(project, store)
    label = f"{project.name}-{project.version}" if project.version else project.name
    taken: set[str] = set()
    tasks = []
    for mutation in chosen:
        task_id = _unused(f"{label}/{mutation.operator}/", mutation.key, taken)
        tasks.append(_task(task_id, mutation, project, tree, store, protected, described))
    report.written = write_tasks(out, tasks)
    return report


def _usable(project: Project, tree: Tree) -> list[str]:
    return [path for path in project.source_files if path in tree.entries and tree.entries[path].mode != "link"]


def _first(notes: list[str]) -> str:
    return f": {notes[-1]}" if notes else ""


def _unused(prefix: str, key: str, taken: set[str]) -> str:
    for length in range(6, len(key) + 1):
        task_id = prefix + key[:length]
        if task_id not in taken:
            taken.add(task_id)
            return task_id
    raise TaskError(f"two mutations share the key {key}")


def _task(
    task_id: str,
    mutation: Mutation,
    project: Project,
    tree: Tree,
    store: BlobStore,
    protected: list[str],
    described: str,
) -> Task:
    entry = tree.entries[mutation.path]
    mutated = FileChange("file", mutation.apply(store.get(entry.name)), entry.mode == "exec")
    start = apply_changes(tree, {mutation.path: mutated}, store)
    only = {mutation.path}
    return Task(
        task_id=task_id,
        kind="fix",
        source="mutate",
        task_desc="",
        provenance=Provenance(
            project=project.name,
            version=project.version,
            license=project.license,
            origin=project.origin,
            operator=mutation.operator,
        ),
        start_state=StartState(tree=save_tree(start, store), branch="main"),
        reference=Reference(
            tree=tree.hash, patch=patch(select(start, only.__contains__), select(tree, only.__contains__), store)
        ),
        tests=TestSets(),
        protected=protected,
        extra={
            "project": described,
            "mutation": {"path": mutation.path, "function": mutation.function, "line": mutation.line},
        },
    )


def in_tests(path: str, test_paths: list[str]) -> bool:
    """Whether a path is one of the test paths or lies below one."""
    for test_path in test_paths:
        top = str(PurePosixPath(test_path))
        if top == ".":
            name = path.rpartition("/")[2]
            if name.startswith("test_") or name.endswith("_test.py"):
                return True
        elif path == top or path.startswith(top + "/"):
            return True
    return False


def protected_patterns(project: Project) -> list[str]:
    """Globs of what decides the verdict: the project's test folders and files."""
    patterns = []
    for test_path in project.test_paths:
        top = str(PurePosixPath(test_path))
        if top == ".":
            patterns += ["test_*.py", "*_test.py"]
        elif (project.root / top).is_dir():
            patterns.append(f"{escape(top)}/**")
        else:
            patterns.append(escape(top) if "/" in top else top)
    return sorted(set(patterns))


def store_project(project: Project, store: BlobStore) -> str:
    """Everything known about a project but where it lies, as a blob; admission builds the environment from it."""
    facts = {f.name: getattr(project, f.name) for f in dataclasses.fields(project) if f.name != "root"}
    return store.put(canonical_json(facts))
