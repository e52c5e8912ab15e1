"""Two small tasks and an agent that walks around in them; material for benchmarks of the recorder."""

from __future__ import annotations

from pathlib import Path

from redtogreen.execution.environments import build_environment, open_project
from redtogreen.execution.trees import patch, save_tree, scan_folder
from redtogreen.protocols import AgentSettings, Workspace
from redtogreen.records import Limits, Provenance, Reference, StartState, Task, TestSets
from redtogreen.tasks.files import blobs_of, write_tasks

_SOURCE = "def double(number):\n    return number * {}\n"
_TESTS = """from twice import double


def test_double():
    assert double(2) == 4


def test_zero():
    assert not double(0)
"""


def write_small_tasks(folder: Path) -> Path:
    """A tasks file with two tasks made by hand; returns its path."""
    file = folder / "tasks.jsonl"
    store = blobs_of(file)
    solved_folder = _project(folder / "solved", 2)
    solved, _ = scan_folder(solved_folder, store)
    environment = build_environment(open_project(solved_folder, folder / "work"))
    store.put(environment.spec)
    tasks = []
    for factor in (3, 5):
        start, _ = scan_folder(_project(folder / f"times-{factor}", factor), store)
        tasks.append(
            Task(
                task_id=f"twice-1.0/constant/{factor}",
                kind="fix",
                source="folder",
                task_desc="double(2) is not 4.",
                provenance=Provenance(project="twice", version="1.0"),
                start_state=StartState(files=["twice.py"], tree=save_tree(start, store)),
                reference=Reference(tree=save_tree(solved, store), patch=patch(start, solved, store)),
                environment=environment.hash,
                tests=TestSets(
                    visible=["test_twice.py::test_double", "test_twice.py::test_zero"],
                    f2p=["test_twice.py::test_double"],
                    p2p=["test_twice.py::test_zero"],
                ),
                protected=["test_twice.py"],
                limits=Limits(steps=30, seconds=300),
                extra={"suite_seconds": 0.5},
            )
        )
    write_tasks(file, tasks)
    return file


def _project(folder: Path, factor: int) -> Path:
    folder.mkdir(parents=True)
    (folder / "twice.py").write_text(_SOURCE.format(factor))
    (folder / "test_twice.py").write_text(_TESTS)
    (folder / "pyproject.toml").write_text('[project]\nname = "twice"\nversion = "1.0"\n')
    return folder


class Walker:
    """Reads, searches, edits to and fro, runs a command now and then, and submits."""

    name, version = "walker", "1"

    def run(self, workspace: Workspace) -> None:
        for turn in range(4):
            workspace.act("open_file", {"path": "twice.py"}, stage="plan")
            workspace.act("search_text", {"pattern": "double"}, stage="plan")
            workspace.act("list_files", {}, stage="plan")
            text = f"    return number * {2 + turn % 2}"
            edit = {"path": "twice.py", "start_line": 2, "end_line": 2, "new_content": text}
            workspace.act("edit_file", edit, stage="coding")
            workspace.act("run_command", {"cmd": "seq 1 3000"}, stage="coding")
        workspace.act("submit", {}, stage="coding")


def build_walker(settings: AgentSettings) -> Walker:
    return Walker()
