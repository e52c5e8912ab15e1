"""A cleaning result on disk: nothing is lost, and it is there whole or not at all."""

from __future__ import annotations

import base64
import json
import resource
from pathlib import Path

import pytest

from redtogreen.data.cleaning import clean, load_cleaning_recipe, write_cleaned
from redtogreen.errors import EnvironmentUnavailable, UsageError
from redtogreen.records import Trajectory, Verdict, encode, read_rows, read_strict
from redtogreen.rewards import load_recipe, score


def read_json(path: Path):
    return json.loads(path.read_text())


def test_every_input_row_is_found_again(make, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    long = make.row("p/a", 1, steps=60)
    lines = [encode(make.row("p/a", 0)), b'{"task_id": 7}', encode(long), b'{"broken', b'{"x": "\xff"}']
    source.write_bytes(b"\n".join(lines) + b"\n")
    recipe = load_recipe("default")
    rows = ((str(source), number, content) for number, content in read_rows(source, Trajectory))
    result = clean(rows, load_cleaning_recipe("default"), lambda row: score(row, recipe), reward_recipe=recipe)
    out = write_cleaned(result, tmp_path / "out")

    (kept,) = read_strict(out / "kept.jsonl", Trajectory)
    assert kept.reward == 1.0
    (rejected,) = read_strict(out / "rejected" / "max_steps.jsonl", Trajectory)
    assert rejected == long
    invalid = [json.loads(line) for line in (out / "rejected" / "invalid.jsonl").read_text().splitlines()]
    assert [entry["line"] for entry in invalid] == [2, 4, 5]
    assert [entry.get("raw") for entry in invalid[:2]] == ['{"task_id": 7}', '{"broken']
    assert base64.b64decode(invalid[2]["raw_base64"]) == lines[4]
    assert "task_id" in invalid[0]["error"]
    verdicts = list(read_strict(out / "verdicts.jsonl", Verdict))
    assert [verdict.line for verdict in verdicts] == [1, 2, 3, 4, 5]
    report = read_json(out / "cleaning.json")
    assert (report["total"], report["kept"], report["drop_rate"]) == (5, 1, 0.8)
    assert report["dropped"]["invalid"] == 3 and report["funnel"][0] == {"rule": "invalid", "rows_in": 5, "rows_out": 2}
    assert report["sources"][0]["rows"] == 5 and report["sources"][0]["hash"].startswith("sha256:")
    assert (out / report["recipe"]["file"]).read_text() == load_cleaning_recipe("default").text
    assert (out / report["reward_recipe"]["file"]).read_text() == recipe.text


def test_the_same_input_gives_the_same_bytes(make, tmp_path: Path) -> None:
    folders = [make.cleaned(tmp_path / name, [make.row("p/a", n) for n in range(3)]) for name in "ab"]
    contents = [{p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()} for folder in folders]
    assert contents[0] == contents[1]


def test_an_earlier_result_is_never_overwritten(make, tmp_path: Path) -> None:
    out = make.cleaned(tmp_path / "out", [make.row("p/a", 0)])
    before = (out / "kept.jsonl").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        make.cleaned(out, [make.row("p/b", 0)])
    assert (out / "kept.jsonl").read_bytes() == before
    (tmp_path / "empty").mkdir()
    assert (make.cleaned(tmp_path / "empty", [make.row("p/a", 0)]) / "kept.jsonl").exists()


def test_a_full_disk_leaves_nothing_half_written(make, tmp_path: Path) -> None:
    result = make.clean([make.row("p/a", n, steps=40) for n in range(20)])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(EnvironmentUnavailable, match="cannot write"):
            write_cleaned(result, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
