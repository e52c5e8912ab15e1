"""Candidates come from any project, as many as asked for, the same every time, without running anything."""

from __future__ import annotations

import os
import tarfile

import pytest

from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.trees import load_tree
from redtogreen.records import encode
from redtogreen.tasks import blobs_of, make_mutants, read_tasks


def made(project, out, **options):
    report = make_mutants(project, out, **options)
    return report, read_tasks(out)


def test_the_number_is_what_was_asked_for_and_each_breaks_one_source_file(write_ledger, tmp_path):
    report, tasks = made(write_ledger(tmp_path / "p"), tmp_path / "f.jsonl", candidates=12)
    assert (report.candidates, report.written, len(tasks)) == (12, 12, 12)
    store = blobs_of(tmp_path / "f.jsonl")
    assert len({task.task_id for task in tasks}) == 12
    assert len({task.start_state.tree for task in tasks}) == 12
    for task in tasks:
        start, reference = load_tree(task.start_state.tree, store), load_tree(task.reference.tree, store)
        changed = [path for path in reference.entries if start.entries.get(path) != reference.entries[path]]
        assert changed == ["ledger/core.py"] == [task.extra["mutation"]["path"]]
        assert task.task_id.startswith(f"ledger-2.0/{task.provenance.operator}/")
        assert task.certificate is None and task.tests.f2p == []
        assert task.protected == ["tests/**"] and task.provenance.license == "MIT"
        assert task.reference.patch.startswith("diff --git a/ledger/core.py b/ledger/core.py\n")


def test_the_same_arguments_give_the_same_file(write_ledger, tmp_path):
    project = write_ledger(tmp_path / "p")
    _, one = made(project, tmp_path / "one.jsonl", candidates=8, seed=3)
    _, two = made(project, tmp_path / "two.jsonl", candidates=8, seed=3)
    _, other = made(project, tmp_path / "other.jsonl", candidates=8, seed=4)
    assert [encode(task) for task in one] == [encode(task) for task in two]
    assert {task.task_id for task in one} != {task.task_id for task in other}


def test_nothing_of_the_project_is_run(write_ledger, tmp_path):
    """Files that would leave a mark when imported leave none."""
    mark = f"open({str(tmp_path / 'mark')!r}, 'w')\n"
    project = write_ledger(tmp_path / "p", {"setup.py": mark, "tests/conftest.py": mark, "ledger/__init__.py": mark})
    made(project, tmp_path / "f.jsonl", candidates=5)
    assert not (tmp_path / "mark").exists()


def test_an_sdist_gives_the_same_bugs_as_its_folder(write_ledger, tmp_path):
    project = write_ledger(tmp_path / "ledger-2.0", {"PKG-INFO": "Metadata-Version: 2.1\nName: ledger\nVersion: 2.0\n"})
    with tarfile.open(tmp_path / "ledger-2.0.tar.gz", "w:gz") as archive:
        archive.add(project, "ledger-2.0")
    _, folder = made(project, tmp_path / "a.jsonl", candidates=6)
    _, sdist = made(tmp_path / "ledger-2.0.tar.gz", tmp_path / "b.jsonl", candidates=6)
    assert [t.task_id for t in folder] == [t.task_id for t in sdist]
    assert {t.provenance.origin for t in sdist} == {"sdist"}
    assert [t.start_state.tree for t in folder] == [t.start_state.tree for t in sdist]


def test_fewer_places_than_asked_for_is_said(write_ledger, tmp_path):
    project = write_ledger(tmp_path / "p", {"ledger/core.py": "def twice(x):\n    return x + x\n"})
    report, tasks = made(project, tmp_path / "f.jsonl", candidates=500)
    assert report.written == len(tasks) < 500
    assert any(f"only {report.written} places" in note for note in report.notes)


def test_bad_source_files_are_named_and_the_others_used(write_ledger, tmp_path):
    extra = {"ledger/broken.py": "def x(:\n", "ledger/latin.py": b"# caf\xe9\nx = 1\n"}
    project = write_ledger(tmp_path / "p", extra)
    os.symlink("core.py", project / "ledger" / "link.py")
    os.symlink("/etc/passwd", project / "ledger" / "out.txt")
    report, tasks = made(project, tmp_path / "f.jsonl", candidates=5)
    assert len(tasks) == 5 and report.dropped == {"unreadable source file": 2}
    said = "\n".join(report.notes)
    assert "ledger/broken.py, line 1" in said and "ledger/latin.py" in said and "ledger/out.txt" in said
    assert {task.extra["mutation"]["path"] for task in tasks} == {"ledger/core.py"}


def test_projects_that_cannot_be_used_are_refused_with_the_reason(write_ledger, tmp_path):
    with pytest.raises(TaskError, match="test"):
        make_mutants(write_ledger(tmp_path / "a", {"tests/test_core.py": None}), tmp_path / "f.jsonl")
    with pytest.raises(TaskError, match="no place to change"):
        make_mutants(write_ledger(tmp_path / "b", {"ledger/core.py": "X = 1\n"}), tmp_path / "f.jsonl")
    with pytest.raises(UsageError):
        make_mutants(tmp_path / "missing", tmp_path / "f.jsonl")
    with pytest.raises(UsageError, match="0 candidates"):
        make_mutants(tmp_path / "a", tmp_path / "f.jsonl", candidates=0)
    assert not (tmp_path / "f.jsonl").exists()
