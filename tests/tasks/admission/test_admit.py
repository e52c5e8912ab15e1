"""Admission on real small projects: what is admitted is proven, what is not has its reason."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from redtogreen.errors import UsageError
from redtogreen.execution.environments import open_workspace
from redtogreen.execution.testruns import run_tests
from redtogreen.execution.trees import load_tree
from redtogreen.grading import grade, grade_patch, grading_tree, load_workspace
from redtogreen.records import encode
from redtogreen.tasks import admit, blobs_of, find_task, make_mutants, read_rejects, read_tasks, write_tasks
from redtogreen.tasks.admission.descriptions import holds
from redtogreen.tasks.files import progress_path
from redtogreen.tasks.test_functions import unit_of

FLAKY = """
import os

def test_hash_dependent():
    assert hash("redtogreen") % 1000 == int(os.environ["PYTHONHASHSEED"] == "0") * (hash("redtogreen") % 1000)

state = []

def test_order_first():
    state.append(1)

def test_order_second():
    assert state == [1]
"""


@pytest.fixture(scope="module")
def admitted(write_ledger, tmp_path_factory):
    """(report, events, file of admitted tasks) of ten bugs in the small project, with two flaky tests added."""
    base = tmp_path_factory.mktemp("admit")
    project = write_ledger(base / "p", {"tests/test_flaky.py": FLAKY})
    make_mutants(project, base / "f.jsonl", candidates=10)
    events: list[dict] = []
    report = admit(base / "f.jsonl", base / "g.jsonl", workers=2, on_event=events.append)
    return report, events, base / "g.jsonl"


def test_the_funnel_adds_up(admitted):
    report, events, file = admitted
    tasks, rejects = read_tasks(file), read_rejects(file)
    assert report.candidates == 10 == report.admitted + sum(report.dropped.values())
    assert report.admitted == len(tasks) >= 4 and len(rejects) == sum(report.dropped.values())
    assert all(reject.reason in report.dropped and reject.operator for reject in rejects)
    assert report.cpu_seconds > 0 and report.projects["ledger"].admitted == report.admitted
    assert report.groups[0]["project"] == "ledger" and report.groups[0]["candidates"] == 10
    assert sum(row["candidates"] for row in report.groups[1:]) == 10
    assert {event["task_id"] for event in events if event["event"] == "candidate"} >= {t.task_id for t in tasks}
    assert not progress_path(file).exists()


def test_flaky_tests_are_found_and_decide_nothing(admitted):
    _, _, file = admitted
    for task in read_tasks(file):
        every = {*task.tests.visible, *task.tests.f2p, *task.tests.p2p, *task.tests.evaluation}
        assert {"tests/test_flaky.py::test_hash_dependent", "tests/test_flaky.py::test_order_second"} <= set(
            task.certificate.flaky
        )
        assert not every & set(task.certificate.flaky)
        assert task.certificate.flaky_rate > 0 and task.certificate.reference_runs == 5
        assert task.certificate.proof == "full" and task.certificate.empty_patch == "failed"


def test_the_three_kinds_of_tests_are_apart(admitted):
    _, _, file = admitted
    tasks = read_tasks(file)
    assert any(task.tests.evaluation for task in tasks)
    for task in tasks:
        sets = task.tests
        assert sets.f2p and sets.p2p and sets.visible == [*sets.f2p, *sets.p2p]
        assert not {unit_of(t) for t in sets.visible} & {unit_of(t) for t in sets.evaluation}


def test_evaluation_tests_are_not_in_the_workspace(admitted):
    """The agent can neither read nor run them; all visible tests are there and fail or pass as the task says."""
    _, _, file = admitted
    task = next(task for task in read_tasks(file) if task.tests.evaluation)
    store = blobs_of(file)
    held = {unit_of(test).split("::")[-1] for test in task.tests.evaluation}
    for path, entry in load_tree(task.start_state.tree, store).entries.items():
        if path.endswith(".py"):
            names = {n.name for n in ast.walk(ast.parse(store.get(entry.name))) if isinstance(n, ast.FunctionDef)}
            assert not names & held
    environment, lower = load_workspace(task, store)
    with open_workspace(environment, lower) as sandbox:
        run = run_tests(sandbox)
    assert set(task.tests.visible) <= set(run.tests) and not set(task.tests.evaluation) & set(run.tests)
    assert all(run.status(test) != "passed" for test in task.tests.f2p)
    assert all(run.status(test) == "passed" for test in task.tests.p2p)


def test_descriptions_tell_the_symptom_and_not_the_place(admitted):
    _, _, file = admitted
    for task in read_tasks(file):
        assert task.tests.f2p[0].split("[")[0] in task.task_desc and "python -m pytest" in task.task_desc
        assert not any(holds(task.task_desc, word) for word in ("ledger/core.py", "core.py", "ledger.core"))
        assert task.provenance.operator not in task.task_desc
        assert "ledger/core.py" in task.start_state.files


def test_a_tasks_file_and_its_blobs_are_enough(admitted, tmp_path, monkeypatch):
    """Copied elsewhere, with an empty cache, a task still grades; rejected candidates leave no blobs behind."""
    _, _, file = admitted
    shutil.copy(file, tmp_path / "t.jsonl")
    shutil.copytree(blobs_of(file).root, tmp_path / "t.blobs")
    monkeypatch.setenv("REDTOGREEN_HOME", str(tmp_path / "home"))
    tasks = read_tasks(tmp_path / "t.jsonl")
    task, store = find_task(f"{tmp_path / 't.jsonl'}#{tasks[0].task_id}")
    assert grade_patch(task, task.reference.patch, store).outcome == "solved"
    assert grade(task, {}, store).outcome == "failed"
    needed = {tree for t in tasks for tree in (t.start_state.tree, t.reference.tree)}
    needed |= {grading_tree(t, store).hash for t in tasks}
    needed |= {e.name for tree in set(needed) for e in load_tree(tree, store).entries.values()}
    needed |= {t.environment for t in tasks} | {t.extra["project"] for t in tasks}
    assert set(store.names()) == needed


def test_the_same_candidates_give_the_same_tasks(admitted, write_ledger, tmp_path):
    _, _, file = admitted
    project = write_ledger(tmp_path / "p", {"tests/test_flaky.py": FLAKY})
    make_mutants(project, tmp_path / "f.jsonl", candidates=10)
    write_tasks(tmp_path / "f.jsonl", read_tasks(tmp_path / "f.jsonl")[:3])
    admit(tmp_path / "f.jsonl", tmp_path / "g.jsonl", workers=1)
    before = {task.task_id: encode(task) for task in read_tasks(file)}
    again = read_tasks(tmp_path / "g.jsonl")
    assert again and all(before[task.task_id] == encode(task) for task in again)


BAD_SUITES = {
    "hangs": ("import time\n\ndef test_a():\n    time.sleep(1000)\n", "suite: timeout"),
    "floods its output": (
        "import sys\n\ndef test_a():\n    while True: sys.__stderr__.write('x' * 65536)\n",
        None,
    ),
    "forks without end": ("import os\n\ndef test_a():\n    while True: os.fork()\n", None),
    "fills the disk": (
        "def test_a():\n    with open('/tmp/big', 'wb') as file:\n        while True: file.write(b'x' * 2**20)\n",
        None,
    ),
    "takes all memory": ("def test_a():\n    x = []\n    while True: x.append(b'x' * 2**24)\n", None),
    "exits": ("import os\n\ndef test_a():\n    os._exit(0)\n", "suite does not finish"),
    "never passes": ("def test_a():\n    assert 0\n", "no test passes"),
    "does not import": ("import ledger.nothing_like_it\n\ndef test_a(): pass\n", None),
    "does not parse": ("def test_a(:\n", "unusable project"),
    "has no tests in its test file": ("X = 1\n", "unusable project"),
    "is not UTF-8": (b"X = 'caf\xe9'\ndef test_a(): pass\n", "unusable project"),
}


@pytest.mark.parametrize("name", BAD_SUITES)
def test_a_suite_that_proves_nothing_drops_its_candidates_with_the_reason(write_ledger, tmp_path, name):
    content, reason = BAD_SUITES[name]
    project = write_ledger(tmp_path / "p", {"tests/test_core.py": content})
    make_mutants(project, tmp_path / "f.jsonl", candidates=2)
    report = admit(tmp_path / "f.jsonl", tmp_path / "g.jsonl", workers=1, runs=2, seconds=6)
    assert report.admitted == 0 and sum(report.dropped.values()) == 2 and len(report.dropped) == 1
    (seen,) = report.dropped
    assert seen == reason or (reason is None and seen != "environment_error"), report.dropped
    assert read_tasks(tmp_path / "g.jsonl") == []
    assert read_rejects(tmp_path / "g.jsonl")[0].detail


def test_one_bad_candidate_never_stops_the_others(write_ledger, tmp_path):
    """One lost its tree, one breaks the import of its module, one hangs, one does nothing; the good one is admitted."""
    project = write_ledger(tmp_path / "p")
    file = tmp_path / "f.jsonl"
    make_mutants(project, file, candidates=1)
    store = blobs_of(file)
    source = (project / "ledger" / "core.py").read_bytes()
    bugs = {
        "lost": None,
        "good": source.replace(b"return -sum(", b"return sum("),
        "import": source.replace(b"class Ledger:", b"class Ledger(Missing):"),
        "hang": source.replace(b"        self.balance += amount\n", b"        while amount: self.balance += amount\n"),
        "same": source + b"\n# a note\n",
        "everything": source.replace(b"def __init__(self, start=0)", b"def __init__(self, start)").replace(
            b"self.balance = start", b"self.balance = start[0]"
        ),
    }
    made = []
    for name, content in bugs.items():
        task = read_tasks(file)[0]
        task.task_id, task.start_state.tree = f"bug/{name}", "sha256:" + "0" * 64
        if content is not None:
            entries = {
                path: [entry.mode, store.put(content) if path == "ledger/core.py" else entry.name]
                for path, entry in load_tree(task.reference.tree, store).entries.items()
            }
            task.start_state.tree = store.put(json.dumps(entries, sort_keys=True, separators=(",", ":")).encode())
        made.append(task)
    write_tasks(file, made)
    report = admit(file, tmp_path / "g.jsonl", workers=2, runs=2)
    reasons = {reject.task_id: reject.reason for reject in read_rejects(tmp_path / "g.jsonl")}
    assert [task.task_id for task in read_tasks(tmp_path / "g.jsonl")] == ["bug/good"]
    assert reasons == {
        "bug/lost": "unusable candidate",
        "bug/import": "collection lost",
        "bug/hang": "timeout",
        "bug/same": "survived",
        "bug/everything": reasons["bug/everything"],
    }
    assert reasons["bug/everything"] in ("too broad", "everything fails")
    assert report.admitted == 1


def test_bugs_that_look_alike_are_admitted_once(write_ledger, tmp_path):
    make_mutants(write_ledger(tmp_path / "p"), tmp_path / "f.jsonl", candidates=4)
    tasks = read_tasks(tmp_path / "f.jsonl")
    twins = read_tasks(tmp_path / "f.jsonl")
    for twin in twins:
        twin.task_id += "-twin"
    write_tasks(tmp_path / "f.jsonl", [*tasks, *twins])
    report = admit(tmp_path / "f.jsonl", tmp_path / "g.jsonl", workers=2, runs=1)
    assert report.admitted == report.dropped["duplicate"] >= 1
    assert not any(task.task_id.endswith("-twin") for task in read_tasks(tmp_path / "g.jsonl"))


PROGRAM = """
import json, sys
from pathlib import Path
from redtogreen.tasks import admit
if __name__ == "__main__":
    tell = lambda event: print(json.dumps(event), flush=True)
    admit(Path(sys.argv[1]), Path(sys.argv[2]), workers=1, runs=2, on_event=tell)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_stopped_in_the_middle_it_goes_on_where_it_was(write_ledger, tmp_path, how):
    """What a killed admission had proven is not proven again, and the result is the same."""
    file, out = tmp_path / "f.jsonl", tmp_path / "g.jsonl"
    make_mutants(write_ledger(tmp_path / "p"), file, candidates=4)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(file), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    done = []
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "candidate":
            done.append(event["task_id"])
            if len(done) == 2:
                os.kill(process.pid, how)
                break
    process.stdout.close()
    assert process.wait(timeout=60) != 0 and progress_path(out).exists() and not out.exists()
    events: list[dict] = []
    admit(file, out, workers=1, runs=2, on_event=events.append)
    again = [event["task_id"] for event in events if event["event"] == "candidate" and not event.get("kept")]
    assert {event["task_id"] for event in events if event.get("kept")} == set(done)
    assert len(again) == 2 and not set(again) & set(done)
    assert not [event for event in events if event["event"] == "baseline_run"]
    assert len(read_tasks(out)) + len(read_rejects(out)) == 4 and not progress_path(out).exists()


def test_arguments_that_make_no_sense_are_refused(tmp_path):
    (tmp_path / "f.jsonl").write_text("")
    with pytest.raises(UsageError, match="cannot be both"):
        admit(tmp_path / "f.jsonl", tmp_path / "f.jsonl")
    with pytest.raises(UsageError, match="0 times"):
        admit(tmp_path / "f.jsonl", tmp_path / "g.jsonl", runs=0)
    assert admit(tmp_path / "f.jsonl", tmp_path / "g.jsonl").candidates == 0
