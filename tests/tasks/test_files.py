"""Tasks files: errors name file, line and field; ids may be shortened; blobs travel along."""

from __future__ import annotations

import json

import pytest

from redtogreen.errors import RecordError, UsageError
from redtogreen.records import encode
from redtogreen.tasks import blobs_of, find_task, make_mutants, read_rejects, read_tasks, write_rejects, write_tasks
from redtogreen.tasks.files import Reject, copy_blobs, rejects_path


@pytest.fixture(scope="module")
def file(write_ledger, tmp_path_factory):
    base = tmp_path_factory.mktemp("files")
    make_mutants(write_ledger(base / "p"), base / "f.jsonl", candidates=4)
    return base / "f.jsonl"


def test_what_is_written_is_read_and_lies_where_it_should(file):
    tasks = read_tasks(file)
    assert len(tasks) == 4 and blobs_of(file).root == file.parent / "f.blobs"
    again = file.with_name("again.jsonl")
    assert write_tasks(again, tasks) == 4 and again.read_bytes() == file.read_bytes()


def test_bad_lines_are_named_with_file_line_and_field(file, tmp_path):
    good = encode(read_tasks(file)[0])
    for text, said in [
        (good + b"\n{nonsense\n", r"g\.jsonl:2"),
        (good.replace(b'"task_desc"', b'"task_dsc"') + b"\n", r"g\.jsonl:1: task_dsc"),
        (good + b"\n\n" + good + b"\n", r"g\.jsonl:3: task_id.*line 1"),
    ]:
        (tmp_path / "g.jsonl").write_bytes(text)
        with pytest.raises(RecordError, match=said):
            read_tasks(tmp_path / "g.jsonl")


def test_a_missing_file_names_the_nearest(file):
    with pytest.raises(UsageError, match="no tasks file") as found:
        read_tasks(file.with_name("ff.jsonl"))
    assert "f.jsonl" in found.value.hint


def test_find_by_id_by_ending_and_by_near_miss(file):
    tasks = read_tasks(file)
    task, store = find_task(f"{file}#{tasks[1].task_id}")
    assert task.task_id == tasks[1].task_id and store.has(task.start_state.tree)
    ending = tasks[1].task_id.rpartition("/")[2]
    assert find_task(f"{file}#{ending}")[0].task_id == task.task_id
    with pytest.raises(UsageError) as found:
        find_task(f"{file}#{task.task_id}x")
    assert task.task_id in found.value.hint
    for name in ("no-mark.jsonl", f"{file}#", "#x"):
        with pytest.raises(UsageError, match="does not name a task"):
            find_task(name)


def test_an_ending_that_fits_several_is_refused(file, tmp_path):
    first, second = read_tasks(file)[:2]
    first.task_id, second.task_id = "a/x1", "b/x1"
    write_tasks(tmp_path / "g.jsonl", [first, second])
    with pytest.raises(UsageError, match="fits 2 tasks"):
        find_task(f"{tmp_path / 'g.jsonl'}#x1")


@pytest.mark.parametrize("field", ["start_state.tree", "reference.tree", "environment"])
def test_a_hash_that_is_none_is_named_with_its_line(file, tmp_path, field):
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    where = rows[1]
    *parts, last = field.split(".")
    for part in parts:
        where = where[part]
    where[last] = "nonsense"
    (tmp_path / "g.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(RecordError, match=f"g.jsonl:2: {field}: not a content hash: 'nonsense'"):
        read_tasks(tmp_path / "g.jsonl")


def test_rejects_lie_beside(tmp_path):
    rejects = [Reject(task_id="a", reason="survived"), Reject(task_id="b", reason="timeout", detail="30 s")]
    write_rejects(tmp_path / "g.jsonl", rejects)
    assert rejects_path(tmp_path / "g.jsonl").name == "g.rejected.jsonl"
    assert read_rejects(tmp_path / "g.jsonl") == rejects
    assert read_rejects(tmp_path / "none.jsonl") == []


def test_blobs_travel_with_a_task_and_a_missing_one_is_named(file, tmp_path):
    task, source = read_tasks(file)[0], blobs_of(file)
    target = blobs_of(tmp_path / "g.jsonl")
    copy_blobs(task, source, target)
    assert {task.start_state.tree, task.reference.tree, task.extra["project"]} <= set(target.names())
    task.start_state.tree = "sha256:" + "0" * 64
    with pytest.raises(RecordError, match="missing"):
        copy_blobs(task, source, target)
