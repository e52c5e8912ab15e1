"""Grading a run again, playing an attempt again, keeping scores: from what was recorded, and only if it is whole."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from redtogreen.errors import UsageError
from redtogreen.records import ComponentScore, Finding, Score
from redtogreen.trajectories.collection import collect, grade_again, is_run, keep_scores, load_run, replay
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.recording.journal import JournalWriter, read_journal
from redtogreen.trajectories.recording.kept_changes import load_changes


def test_a_run_can_be_graded_and_played_again(material, agents, tmp_path):
    run, events = tmp_path / "run", []
    collect(material.file, f"{agents}:Solver", run, attempts=1)
    rows = list(load_run(run))
    grades = grade_again(run, events.append)
    assert [(one.outcome, one.tests, one.evaluation) for one in grades] == [
        (row.metadata.grade.outcome, row.metadata.grade.tests, row.metadata.grade.evaluation) for row in rows
    ]
    assert sorted(event["outcome"] for event in events) == ["failed", "solved"]

    report = replay(run, "1", tmp_path / "again")
    assert report.differences == [] and report.same and report.outcome == report.recorded_outcome == "solved"
    assert report.attempt == rows[0].attempt and report.steps == len(rows[0].trajectory)
    with pytest.raises(UsageError, match="holds no attempt"):
        replay(run, "nothing", tmp_path / "x")
    with pytest.raises(UsageError, match="fits 2 attempts"):
        replay(run, ":0", tmp_path / "x")
    assert is_run(run) and not is_run(tmp_path) and not is_run(tmp_path / "none")


def test_what_no_patch_shows_is_graded_again_all_the_same(material, agents, tmp_path):
    """Binary and large files are kept with the attempt; an e-mail address is replaced and stops nothing."""
    run = tmp_path / "run"
    collect(material.file, f"{agents}:Bulky", run, attempts=1)
    rows = list(load_run(run))
    assert rows[0].outcome == "solved" and rows[0].metadata.personal > 0 == rows[0].metadata.redactions
    assert "Binary files" in rows[0].final_state.patch and rows[0].metadata.redacted_files == []
    changes, redacted = load_changes(rows[0].final_state.changes, RunFolder(run).blobs)
    assert changes["raw.bin"].content == b"\xff\0" and len(changes["big.txt"].content) == 700_000 and not redacted
    assert changes["author.txt"].content == b"mail=person-1@redacted.invalid\n"
    assert rows[0].metadata.grade.findings == [Finding(kind="size", status="blocked", evidence="huge.bin")]
    assert grade_again(run) == [row.metadata.grade for row in rows]


def test_a_run_without_the_changed_files_is_graded_again_from_its_patches(material, agents, tmp_path):
    """What an older version recorded."""
    for agent in ("Solver", "Bulky"):
        run = tmp_path / agent
        collect(material.file, f"{agents}:{agent}", run, attempts=1, workers=1)
        (journal,) = run.glob("journal/worker-*")
        events = list(read_journal(journal))
        journal.unlink()
        with JournalWriter(journal) as writer:
            for event in events:
                event.get("trajectory", {}).get("final_state", {}).pop("changes", None)
                writer.append(event)
    assert {one.outcome for one in grade_again(tmp_path / "Solver")} == {"solved", "failed"}
    assert {one.error for one in grade_again(tmp_path / "Bulky")} == {
        "the patch leaves out files that are no text, or too large"
    }


def test_what_was_redacted_is_neither_played_nor_graded_again(material, agents, tmp_path):
    collect(material.file, f"{agents}:Secretive", tmp_path / "run", attempts=1)
    with pytest.raises(UsageError, match="secrets were replaced"):
        replay(tmp_path / "run", "1", tmp_path / "again")
    assert {one.outcome for one in grade_again(tmp_path / "run")} == {"grader_error"}


def test_scores_are_kept_beside_the_run(tmp_path):
    part = ComponentScore(name="resolved", value=1, weight=1, low=0, high=1, meaning="m")
    scores = [
        Score(recipe="r", version=2, task_id="t", attempt="a", reward=0.1 + 0.2, components=[part], steps=[0.1, 0.2]),
        Score(recipe="r", version=2, task_id="t", attempt="b", reason="no reward"),
    ]
    path = keep_scores(tmp_path, scores)
    first, second = pq.read_table(path).to_pylist()
    assert path == tmp_path / "rewards" / "r.parquet" and first["reward"] == 0.1 + 0.2 and first["steps"] == [0.1, 0.2]
    assert json.loads(first["components"])[0]["name"] == "resolved" and second["reward"] is None
    assert keep_scores(tmp_path, []) is None


def test_a_chains_settings_are_no_run(tmp_path):
    for text in ("seed = 1", "collection = 3", "[[collection]]"):
        (tmp_path / "run.toml").write_text(text)
        assert not is_run(tmp_path)
        with pytest.raises(UsageError, match="holds no settings of a collection"):
            RunFolder(tmp_path).settings()
