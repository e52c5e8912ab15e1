"""A small real project, tasks made from it by hand, and agents that do one thing each."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from redtogreen.execution.environments import build_environment, open_project
from redtogreen.execution.trees import Tree, export_tree, patch, save_tree, scan_folder
from redtogreen.records import Limits, Provenance, Reference, StartState, Task, TestSets
from redtogreen.store import BlobStore
from redtogreen.tasks.files import blobs_of, write_tasks

GOOD = '''"""Counting words."""


def count(text):
    """How often each word stands in a text."""
    result = {}
    for word in text.split():
        result[word] = result.get(word, 0) + 1
    return result


def most(text):
    counts = count(text)
    return max(counts, key=counts.get) if counts else None
'''
BAD = GOOD.replace("result.get(word, 0) + 1", "result.get(word, 0) + 2")
WORSE = GOOD.replace("max(counts", "min(counts")
TESTS = """from words.counting import count, most


def test_count():
    assert count("a b a") == {"a": 2, "b": 1}


def test_count_one():
    assert count("x") == {"x": 1}


def test_most():
    assert most("a b b") == "b"


def test_most_of_nothing():
    assert most("") is None
"""
EVALUATION = """

def test_count_three():
    assert count("a a a") == {"a": 3}
"""
ID = "tests/test_counting.py::"

AGENTS = '''
import os, time
from pathlib import Path
from redtogreen.protocols import AttemptEnded

GOOD = """    for word in text.split():
        result[word] = result.get(word, 0) + 1
"""

class Base:
    name, version = "test", "1"
    def __init__(self, settings): self.settings = settings

class Solver(Base):
    def run(self, w):
        w.act("open_file", {"path": "words/counting.py"}, stage="plan")
        w.act("write_plan", {"text": "the count is wrong"}, stage="plan")
        w.act("run_test", {"tests": ["tests/test_counting.py::test_count"]}, stage="coding")
        edit = {"path": "words/counting.py", "start_line": 7, "end_line": 8, "new_content": GOOD}
        w.act("edit_file", edit, stage="coding", call={"name": "str_replace"}, call_id="c1")
        w.act("run_test", {}, stage="coding")
        w.act("submit", {}, stage="coding")

class Successor(Base):
    """Says how many steps it found taken, and submits."""
    def run(self, w):
        w.act("run_command", {"cmd": f"echo {len(w.history)}"}, stage="coding")
        w.act("submit", {}, stage="coding")

class Nothing(Base):
    def run(self, w):
        w.act("submit", {}, stage="plan")

class Seeded(Base):
    def run(self, w):
        w.act("create_file", {"path": "seed.txt", "content": str(self.settings.seed)}, stage="coding")

class Crash(Base):
    def run(self, w):
        w.act("list_files", {}, stage="plan")
        raise ValueError("the agent broke")

class Swallow(Base):
    def run(self, w):
        try:
            w.act("submit", {}, stage="plan")
        except AttemptEnded:
            pass

class Endless(Base):
    def run(self, w):
        while True:
            w.act("list_files", {}, stage="plan")

class Hanging(Base):
    def run(self, w):
        w.act("list_files", {}, stage="plan")
        time.sleep(600)

class Deaf(Base):
    """Solves the task and then goes on for ever, whatever is raised in it."""
    def run(self, w):
        edit = {"path": "words/counting.py", "start_line": 7, "end_line": 8, "new_content": GOOD}
        w.act("edit_file", edit, stage="coding")
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass

class Slow(Base):
    def run(self, w):
        for n in range(12):
            w.act("list_files", {}, stage="plan")
        w.act("create_file", {"path": "notes.txt", "content": "text"}, stage="coding")
        w.act("submit", {}, stage="coding")

class Secretive(Base):
    def run(self, w):
        w.act("create_file", {"path": "config.py", "content": "PASSWORD = 'hunter2Xq9!zz81'\\\\n"}, stage="coding")
        w.act("run_command", {"cmd": "cat config.py; echo AKIAQ3EGRZ7ABCDEFG2H; seq 1 5000"}, stage="coding")
        w.act("submit", {"text": "my mail is jane.doe@company.com"}, stage="coding")

class Bulky(Base):
    """Solves the task, and leaves what no patch can show."""
    def run(self, w):
        edit = {"path": "words/counting.py", "start_line": 7, "end_line": 8, "new_content": GOOD}
        w.act("edit_file", edit, stage="coding")
        make = "head -c 700000 /dev/zero | tr '\\\\0' x > big.txt; head -c 5000000 /dev/zero > huge.bin;"
        make += "printf '\\\\377\\\\000' > raw.bin; echo mail=jane.doe@company.com > author.txt"
        w.act("run_command", {"cmd": make}, stage="coding")
        w.act("submit", {}, stage="coding")

class Filling(Base):
    def run(self, w):
        import random
        noise = random.Random(self.settings.seed)
        for n in range(15):
            w.act("write_plan", {"text": noise.randbytes(20_000).hex()}, stage="plan")

class Die(Base):
    """Kills its worker: while it works, or before its attempt has its first record."""
    def __init__(self, settings):
        super().__init__(settings)
        if settings.options.get("early"):
            os._exit(9)

    def run(self, w):
        w.act("list_files", {}, stage="plan")
        os._exit(9)

class DieOnce(Base):
    """Kills its own worker process, the first time only."""
    def run(self, w):
        w.act("list_files", {}, stage="plan")
        mark = Path(self.settings.options["mark"]) / w.task.task_id.replace("/", "_")
        if not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), 9)
        w.act("submit", {}, stage="plan")
'''


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    """Caches of the whole session, so that an environment is built once."""
    if "REDTOGREEN_HOME" in os.environ:
        yield
        return
    patcher = pytest.MonkeyPatch()
    patcher.setenv("REDTOGREEN_HOME", str(tmp_path_factory.mktemp("home")))
    yield
    patcher.undo()


@dataclass
class Material:
    """A tasks file and where it lies."""

    file: Path
    tasks: list[Task]
    store: BlobStore


def write_project(folder: Path, source: str, tests: str) -> Path:
    for path, content in {
        "words/__init__.py": "",
        "words/counting.py": source,
        "tests/test_counting.py": tests,
        "pyproject.toml": '[project]\nname = "words"\nversion = "1.0"\n',
    }.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return folder


@pytest.fixture(scope="session")
def material(tmp_path_factory, home) -> Material:
    """Two tasks on one project: a wrong count, and a `most` that gives the least."""
    root = tmp_path_factory.mktemp("material")
    file = root / "tasks.jsonl"
    store = blobs_of(file)
    solved, _ = scan_folder(write_project(root / "solved", GOOD, TESTS + EVALUATION), store)
    environment = build_environment(open_project(root / "solved", root / "work"))
    store.put(environment.spec)
    tasks = [
        _task(store, root, name, source, solved, environment.hash, f2p)
        for name, source, f2p in (
            ("words-1.0/count/aaaaaa", BAD, ["test_count", "test_count_one"]),
            ("words-1.0/most/bbbbbb", WORSE, ["test_most"]),
        )
    ]
    write_tasks(file, tasks)
    return Material(file, tasks, store)


def _task(store, root, name, source, solved: Tree, environment: str, f2p: list[str]) -> Task:
    start, _ = scan_folder(write_project(root / name.replace("/", "-"), source, TESTS), store)
    visible = [ID + test for test in ("test_count", "test_count_one", "test_most", "test_most_of_nothing")]
    failing = [ID + test for test in f2p]
    return Task(
        task_id=name,
        kind="fix",
        source="mutate",
        task_desc="Some counts are wrong.",
        provenance=Provenance(project="words", version="1.0"),
        start_state=StartState(files=["words/counting.py"], tree=save_tree(start, store)),
        reference=Reference(tree=save_tree(solved, store), patch=patch(start, solved, store)),
        environment=environment,
        tests=TestSets(
            visible=visible,
            f2p=failing,
            p2p=[test for test in visible if test not in failing],
            evaluation=[ID + "test_count_three"],
        ),
        protected=["tests/**"],
        limits=Limits(steps=20, seconds=120),
        extra={"suite_seconds": 0.5},
    )


@pytest.fixture
def agents(tmp_path, monkeypatch) -> str:
    """Name of an importable module with the agents above; `agents + ":Solver"` names one."""
    folder = tmp_path / "agent_modules"
    folder.mkdir()
    name = f"test_agents_{os.getpid()}_{time.time_ns()}"
    (folder / f"{name}.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(str(folder))
    return name


@pytest.fixture
def unpack(material):
    """Write a task's start state as ordinary files."""
    from redtogreen.execution.trees import load_tree

    def write(task: Task, out: Path) -> Path:
        export_tree(load_tree(str(task.start_state.tree), material.store), out, material.store)
        return out

    return write
