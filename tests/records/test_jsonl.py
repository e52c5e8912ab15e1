"""Reading and writing records: what is valid, and what an error must name."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.errors import RecordError
from redtogreen.records import RowError, Task, Trajectory, decode, encode, read_rows, read_strict, write_jsonl
from redtogreen.records.migrations import MIGRATIONS, migrate

ROW = {
    "task_id": "t/1",
    "task_desc": "make it pass",
    "start_state": {"files": ["a.py"], "branch": "main"},
    "trajectory": [
        {
            "stage": "plan",
            "step": 1,
            "action": "open_file",
            "params": {"path": "a.py"},
            "observation": {"text": "x"},
            "feedback": {"status": "ok"},
        },
        {
            "stage": "coding",
            "step": 2,
            "action": "run_command",
            "params": {"cmd": "pytest"},
            "observation": {},
            "feedback": {"passed": 12, "failed": 0},
        },
    ],
    "final_state": {"patch": "", "test_summary": {"passed": 12, "failed": 0}},
    "success": True,
    "reward": 5.2,
}


def row(**changes) -> bytes:
    return json.dumps({**ROW, **changes}).encode()


def changed_step(**changes) -> bytes:
    step = {**ROW["trajectory"][0], **changes}
    return row(trajectory=[step])


def test_a_row_with_only_the_documented_fields_is_valid() -> None:
    trajectory = decode(row(), Trajectory)
    assert trajectory.reward == 5.2
    assert trajectory.trajectory[1].feedback.passed == 12
    assert trajectory.trajectory[1].feedback.status is None


def test_what_is_written_reads_back_the_same() -> None:
    trajectory = decode(row(), Trajectory)
    assert decode(encode(trajectory), Trajectory) == trajectory


def test_nulls_of_the_contract_are_written_out() -> None:
    """Readers of other languages find `reward` and `success` even where there is none."""
    written = json.loads(encode(decode(row(success=None, reward=None), Trajectory)))
    assert written["reward"] is None and written["success"] is None


def test_unknown_field_names_file_line_path_and_nearest() -> None:
    line = changed_step(feedback={"staus": "ok"})
    with pytest.raises(RowError) as caught:
        decode(line, Trajectory, file="run.jsonl", number=7)
    assert "run.jsonl:7" in str(caught.value)
    assert "trajectory[0].feedback.staus" in str(caught.value)
    assert "`status`" in caught.value.hint


@pytest.mark.parametrize("field", ["task_id", "task_desc", "trajectory", "final_state", "start_state"])
def test_missing_field_is_named(field: str) -> None:
    raw = {key: value for key, value in ROW.items() if key != field}
    with pytest.raises(RowError, match=f"required field `{field}` is missing"):
        decode(json.dumps(raw).encode(), Trajectory)


@pytest.mark.parametrize(
    "line, said",
    [
        (b"{not json", "not valid JSON"),
        (b"[1, 2]", "expected an object"),
        (b'"text"', "expected an object"),
        (b'{"task_id": "\xff"}', "not valid JSON"),
        (changed_step(stage="thinking"), "trajectory[0].stage"),
        (changed_step(step=0), "trajectory[0].step"),
        (changed_step(action="hack"), "trajectory[0].action"),
        (row(reward="five"), "reward"),
        (row(outcome="won"), "outcome"),
        (row(schema=99), "newer redtogreen"),
        (row(schema="one"), "whole number"),
        (row(schema=True), "whole number"),
    ],
)
def test_broken_rows_say_what_and_where(line: bytes, said: str) -> None:
    with pytest.raises(RowError) as caught:
        decode(line, Trajectory, file="f.jsonl", number=3)
    assert said in str(caught.value)
    assert "f.jsonl:3" in str(caught.value)


def test_lenient_moves_unknown_fields_to_extra() -> None:
    raw = {**ROW, "cost": 3, "trajectory": [{**ROW["trajectory"][0], "thought": "hm"}]}
    trajectory = decode(json.dumps(raw).encode(), Trajectory, lenient=True)
    assert trajectory.extra == {"cost": 3}
    assert trajectory.trajectory[0].extra == {"thought": "hm"}


def test_one_bad_line_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(row() + b"\n\n{broken\n" + row(task_id="t/2") + b"\n")
    rows = list(read_rows(file, Trajectory))
    assert [number for number, _ in rows] == [1, 3, 4]
    assert isinstance(rows[1][1], RowError)
    assert rows[2][1].task_id == "t/2"
    with pytest.raises(RowError, match=":3"):
        list(read_strict(file, Trajectory))


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert write_jsonl(file, [decode(row(), Trajectory)]) == 1

    def failing():
        yield decode(row(task_id="new"), Trajectory)
        raise OSError("disk")

    with pytest.raises(OSError):
        write_jsonl(file, failing())
    assert [item.task_id for item in read_strict(file, Trajectory)] == ["t/1"]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_migrations_lift_old_rows_one_version_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redtogreen.records.migrations.SCHEMA", 3)
    monkeypatch.setitem(MIGRATIONS, ("Thing", 1), lambda raw: {"a": raw["old"]})
    monkeypatch.setitem(MIGRATIONS, ("Thing", 2), lambda raw: {"a": raw["a"], "b": raw["a"] + 1})
    assert migrate({"schema": 1, "old": 1}, "Thing") == {"a": 1, "b": 2, "schema": 3}
    assert migrate({"schema": 3, "a": 5}, "Thing") == {"schema": 3, "a": 5}
    assert migrate({"x": 1}, "Thing") == {"x": 1}
    with pytest.raises(RecordError):
        migrate({"schema": 4}, "Thing")


def test_a_task_holds_the_documented_fields() -> None:
    task = {
        "schema": 1,
        "task_id": "toolz-1.2.0/compare_swap/3f9a1c",
        "kind": "fix",
        "source": "mutate",
        "task_desc": "...",
        "provenance": {
            "project": "toolz",
            "version": "1.2.0",
            "license": "BSD-3-Clause",
            "origin": "sdist",
            "operator": "compare_swap",
        },
        "start_state": {"tree": "sha256:0", "files": ["a"], "branch": "b"},
        "reference": {"tree": "sha256:1", "patch": "..."},
        "environment": "sha256:2",
        "runner": "pytest",
        "tests": {"visible": ["a"], "f2p": ["a"], "p2p": ["b"], "evaluation": ["c"], "hidden_inputs": {}},
        "protected": ["tests/**"],
        "limits": {"steps": 30, "seconds": 600, "memory": "512M", "actions": None},
        "difficulty": None,
        "use": "train",
        "certificate": {"proof": "full", "reference_runs": 5, "flaky": [], "strength": None},
    }
    record = decode(json.dumps(task).encode(), Task)
    view = msgspec.to_builtins(record.view())
    assert "reference" not in view and "compare_swap" not in json.dumps(view)
    assert "evaluation" not in json.dumps(view)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(params=st.dictionaries(st.text(max_size=5), _JSON, max_size=3), text=st.text(max_size=30))
def test_any_params_and_texts_survive_a_round_trip(params: dict, text: str) -> None:
    raw = {**ROW, "task_desc": text, "trajectory": [{**ROW["trajectory"][0], "params": params}]}
    trajectory = msgspec.convert(raw, Trajectory)
    line = encode(trajectory)
    assert b"\n" not in line
    assert decode(line, Trajectory) == trajectory


@pytest.mark.parametrize("line", [b"[" * 200_000, b'{"a":' * 100_000])
def test_endless_nesting_is_one_bad_line(line: bytes) -> None:
    with pytest.raises(RowError, match="nested too deeply|not valid JSON"):
        decode(line, Trajectory)


@pytest.mark.parametrize("limits", [{"seconds": 1e308}, {"seconds": -1}, {"steps": 0}, {"memory": "lots"}])
def test_limits_nobody_could_keep_are_refused_on_reading(limits: dict) -> None:
    task = {
        "task_id": "a/b/c",
        "kind": "fix",
        "source": "mutate",
        "task_desc": "",
        "provenance": {"project": "a"},
        "start_state": {"files": []},
        "tests": {},
        "limits": limits,
    }
    with pytest.raises(RowError, match="limits"):
        decode(json.dumps(task).encode(), Task)
