"""Six small projects of different shape, each with one broken function: what attacks are tried on.

A project is one TOML file: the files an agent finds, the tests it does not (`hidden`), and the function's body as it is
`broken`, as it should be (`body`) and written quite `other`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from redtogreen.errors import TaskError, UsageError, nearest
from redtogreen.execution.trees import load_tree
from redtogreen.grading import judge
from redtogreen.records import Task
from redtogreen.redteam.attack import Target
from redtogreen.store import BlobStore, scratch
from redtogreen.tasks import admit, blobs_of, make_folder_task, read_rejects, read_tasks, write_tasks
from redtogreen.tasks.files import copy_blobs, join_tasks

SHAPES = ("functions", "classes", "command", "src", "fixtures", "unittest")
GRADING_SECONDS = 12.0
"""Wall clock of the reward tests: their suites take a second, and some attacks never end."""
_PLACE = "@body@\n"


@dataclass(frozen=True)
class Shape:
    """One project of the corpus."""

    name: str
    summary: str
    describe: str
    """What an agent is told."""
    templates: Mapping[str, str]
    """Path -> text of what an agent finds, with a mark where the body belongs."""
    hidden: Mapping[str, str]
    """Path -> text of reward tests that stand in the reference only."""
    source: str
    function: str
    module: str
    helper: str
    """Name of another function of that file, with arguments that can be hashed, that the function does not use."""
    broken: str
    body: str
    other: str
    """Another right body."""
    inputs: str
    outputs: str

    def with_body(self, body: str) -> dict[str, str]:
        """The files an agent finds, with some body of the function."""
        return {path: text.replace(_PLACE, body) for path, text in self.templates.items()}

    @property
    def start(self) -> dict[str, str]:
        return self.with_body(self.broken)

    @property
    def solved(self) -> dict[str, str]:
        """The files of the reference, hidden tests included."""
        return {**self.with_body(self.body), **self.hidden}

    def target(self, failing: Sequence[str] = ()) -> Target:
        """What an attacker knows. `failing`: ids of visible tests."""
        files = self.start
        return Target(
            shape=self.name,
            files=files,
            source=self.source,
            function=self.function,
            module=self.module,
            test_files=[path for path in files if path.rpartition("/")[2].startswith("test_")],
            failing=list(failing),
            facts={"body": self.body, "inputs": self.inputs, "outputs": self.outputs},
        )


@cache
def load_shape(name: str) -> Shape:
    """A project by name. Raises UsageError for an unknown one."""
    if name not in SHAPES:
        close = nearest(name, SHAPES)
        raise UsageError(f"unknown shape {name!r}", f"did you mean {close!r}?" if close else "; ".join(SHAPES))
    told = tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
    return Shape(name=name, templates=told.pop("files"), **told)


def admit_shapes(folder: Path, names: Sequence[str] = SHAPES, *, workers: int = 1) -> dict[str, Task]:
    """Shape -> admitted task; `folder`/shapes.jsonl and its blobs hold them.

    Unlike other tasks they have reward tests that lie in no workspace. Raises TaskError when one cannot be admitted,
    EnvironmentUnavailable when this machine cannot run them.
    """
    with scratch() as work:
        made = [_candidate(load_shape(name), work) for name in names]
        candidates, out = work / "candidates.jsonl", folder / "shapes.jsonl"
        join_tasks(made, candidates)
        admit(candidates, out, workers=workers, runs=1)
        if rejects := read_rejects(out):
            raise TaskError(f"the project {rejects[0].project} was not admitted: {rejects[0].reason}")
        store, tasks = blobs_of(out), {}
        for name, candidate, task in zip(names, read_tasks(candidates), read_tasks(out), strict=True):
            copy_blobs(candidate, blobs_of(candidates), store)
            tasks[name] = _hold_back(task, candidate, store)
        write_tasks(out, tasks.values())
    return tasks


def _candidate(shape: Shape, work: Path) -> Path:
    folders = []
    for kind, files in (("start", shape.start), ("solved", shape.solved)):
        folder = work / shape.name / kind
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        folders.append(folder)
    out = work / shape.name / "made.jsonl"
    make_folder_task(folders[0], out, tests=["tests"], reference=folders[1], describe=shape.describe)
    return out


def _hold_back(task: Task, candidate: Task, store: BlobStore) -> Task:
    """All tests decide, also those that the start state does not hold."""
    evaluation = judge(task, {}, store).grade.evaluation
    task.tests.p2p += [test for test, status in evaluation.items() if status == "passed"]
    task.tests.f2p += [test for test, status in evaluation.items() if status != "passed"]
    task.tests.evaluation = []
    task.start_state.tree = candidate.start_state.tree or ""
    found = load_tree(task.start_state.tree, store).entries
    task.tests.visible = [t for t in (*task.tests.f2p, *task.tests.p2p) if t.split("::", 1)[0] in found]
    task.extra["grading_seconds"] = GRADING_SECONDS
    return task


def visible_failures(task: Task) -> list[str]:
    """Ids of the tests that an agent sees failing."""
    visible = set(task.tests.visible)
    return [test for test in task.tests.f2p if test in visible]
