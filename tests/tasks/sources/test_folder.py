"""One task from the user's own folders."""

from __future__ import annotations

import pytest

from redtogreen.errors import UsageError
from redtogreen.grading import grade_patch
from redtogreen.tasks import admit, blobs_of, make_folder_task, read_rejects, read_tasks

FEATURE = "\n\ndef average(ledger):\n    return ledger.balance / len(ledger.entries)\n"
FEATURE_TESTS = """
from ledger import core

def test_average():
    ledger = core.Ledger()
    ledger.add(4)
    ledger.add(2)
    assert core.average(ledger) == 3

def test_average_is_there():
    assert callable(core.average)
"""


def test_a_feature_with_its_tests_only_in_the_reference_becomes_a_task(write_ledger, tmp_path):
    start = write_ledger(tmp_path / "start")
    core = (start / "ledger" / "core.py").read_text()
    extra = {"ledger/core.py": core + FEATURE, "tests/test_average.py": FEATURE_TESTS}
    solved = write_ledger(tmp_path / "solved", extra)
    out, admitted = tmp_path / "f.jsonl", tmp_path / "g.jsonl"
    make_folder_task(start, out, tests=["tests/"], reference=solved, describe="Add an average.")
    report = admit(out, admitted, workers=1, runs=2)
    assert report.admitted == 1, read_rejects(admitted)
    (task,) = read_tasks(admitted)
    assert task.task_desc == "Add an average." and task.kind == "issue"
    assert len(task.tests.f2p) == 1 and len([t for t in task.tests.evaluation if "average" in t]) == 1
    assert "tests/" not in task.reference.patch
    assert grade_patch(task, task.reference.patch, blobs_of(admitted)).outcome == "solved"


def test_without_a_reference_nothing_is_proven(write_ledger, tmp_path):
    make_folder_task(write_ledger(tmp_path / "p"), tmp_path / "f.jsonl", tests=["tests"])
    report = admit(tmp_path / "f.jsonl", tmp_path / "g.jsonl", workers=1, runs=1)
    assert report.dropped == {"no reference": 1}
    assert "--reference" in read_rejects(tmp_path / "g.jsonl")[0].detail


def test_wrong_places_are_named(write_ledger, tmp_path):
    project = write_ledger(tmp_path / "p")
    with pytest.raises(UsageError, match="no tests at 'test'") as found:
        make_folder_task(project, tmp_path / "f.jsonl", tests=["test"])
    assert "tests" in found.value.hint
    with pytest.raises(UsageError, match="not a folder"):
        make_folder_task(project, tmp_path / "f.jsonl", tests=["tests"], reference=tmp_path / "none")
    with pytest.raises(UsageError, match="no test path"):
        make_folder_task(project, tmp_path / "f.jsonl", tests=[])
