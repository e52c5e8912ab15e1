"""New attempts that go on after a step of a recorded one: from its workspace, with its steps, or not at all."""

from __future__ import annotations

import shutil

import pytest
from msgspec.structs import replace

from redtogreen.errors import UsageError
from redtogreen.records import Branch
from redtogreen.trajectories.collection import branch, collect, grade_again, load_run, replay
from redtogreen.trajectories.collection.origin import Origin
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.recording.journal import JournalWriter, read_journal
from redtogreen.trajectories.recording.kept_changes import load_changes


@pytest.fixture
def solved(material, agents, tmp_path):
    """A run and its first attempt, which edits at step 4 and submits at step 6."""
    run = tmp_path / "run"
    collect(material.file, f"{agents}:Solver", run, attempts=1, workers=1)
    row = next(load_run(run))
    assert [step.action for step in row.trajectory][3:] == ["edit_file", "run_test", "submit"]
    return run, row


@pytest.mark.parametrize("step", [0, 2, 4, 5])
def test_an_attempt_goes_on_from_the_workspace_of_any_step(solved, agents, tmp_path, step):
    run, row = solved
    report = branch(run, "1", step, tmp_path / "b", agent=f"{agents}:Successor", attempts=2, workers=1)
    outcome = "solved" if step >= 4 else "failed"
    assert report.outcomes == {outcome: 2}
    first, second = load_run(tmp_path / "b")
    for one in (first, second):
        assert one.trajectory[:step] == row.trajectory[:step]
        assert [new.step for new in one.trajectory] == list(range(1, step + 3))
        assert one.metadata.branch == Branch(attempt=row.attempt, step=step)
        assert one.trajectory[step].observation["stdout_tail"] == f"{step}\n"  # what the agent found as its history
        assert one.trajectory[-1].tree == (row.trajectory[step - 1].tree if step else row.start_state.tree)
    assert first.attempt == f"{row.attempt}@{step}:{agents}:Successor:0:0" != second.attempt
    assert first.metadata.seed != second.metadata.seed


def test_a_branch_stands_on_its_own_and_is_continued_not_made_twice(solved, agents, tmp_path):
    run, _ = solved
    out, agent = tmp_path / "b", f"{agents}:Successor"
    branch(run, "1", 4, out, agent=agent, attempts=1, workers=1)
    before = list(load_run(out))
    assert branch(run, "1", 4, out, agent=agent, attempts=1, workers=1).attempts == 1
    with pytest.raises(UsageError, match="`branch` was"):
        branch(run, "1", 5, out, agent=agent, attempts=1, workers=1)
    with pytest.raises(UsageError, match="`branch` was"):
        collect(out / ".branch" / "task.jsonl", agent, out, attempts=1)
    shutil.rmtree(run)
    assert list(load_run(out)) == before
    assert [one.outcome for one in grade_again(out)] == ["solved"]
    again = branch(out, "1", 5, tmp_path / "b2", agent=agent, attempts=1, workers=1)  # a branch of a branch
    assert again.outcomes == {"solved": 1}


def test_the_runs_own_agent_goes_on_when_none_is_named(solved, tmp_path):
    run, _ = solved
    branch(run, "1", 0, tmp_path / "b", attempts=1, workers=1)
    (row,) = load_run(tmp_path / "b")
    assert row.outcome == "solved" and row.metadata.agent == RunFolder(run).settings()["agent"]


def test_bytes_and_large_files_are_restored(material, agents, tmp_path):
    """What no diff shows. A by-product of tools is not."""
    run = tmp_path / "run"
    collect(material.file, f"{agents}:Bulky", run, attempts=1, workers=1)
    rows = list(load_run(run))
    step = rows[0].trajectory[1]
    changes, _ = load_changes(step.changes, RunFolder(run).blobs)
    assert changes["raw.bin"].content == b"\xff\0" and len(changes["big.txt"].content) == 700_000
    with pytest.raises(UsageError, match=r"personal data was replaced"):
        branch(run, "1", 2, tmp_path / "b", agent=f"{agents}:Successor")
    assert branch(run, "1", 1, tmp_path / "b", agent=f"{agents}:Successor", attempts=1).outcomes == {"solved": 1}


def test_what_cannot_be_gone_on_from_is_refused_with_the_reason(solved, material, agents, tmp_path):
    run, row = solved
    for step, message in ((7, "has no step 7"), (6, "step 6 .* submits")):
        with pytest.raises(UsageError, match=message):
            branch(run, "1", step, tmp_path / "b")
    (journal,) = run.glob("journal/worker-*")
    events = list(read_journal(journal))
    journal.unlink()
    with JournalWriter(journal) as writer:  # what an older version recorded
        for event in events:
            event.get("step", {}).pop("changes", None)
            writer.append(event)
    with pytest.raises(UsageError, match="after step 4 .* was not kept"):
        branch(run, "1", 5, tmp_path / "b")
    collect(material.file, f"{agents}:Secretive", tmp_path / "secretive", attempts=1)
    with pytest.raises(UsageError, match="secrets were replaced"):
        branch(tmp_path / "secretive", "1", 1, tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_workspace_that_is_not_the_recorded_one_is_a_failure_of_the_machine(solved, agents, tmp_path, monkeypatch):
    run, _ = solved
    (journal,) = run.glob("journal/worker-*")
    events = list(read_journal(journal))
    journal.unlink()
    with JournalWriter(journal) as writer:
        for event in events:
            if event.get("step", {}).get("step") == 4:
                event["step"]["tree"] = "sha256:" + "0" * 64
            writer.append(event)
    with pytest.raises(UsageError, match="not those the step left"):
        branch(run, "1", 4, tmp_path / "b", agent=f"{agents}:Successor", attempts=1)
    monkeypatch.setattr(
        Origin, "at", lambda row, step, *stores: Origin(replace(row, trajectory=row.trajectory[:step]), stores[0])
    )
    report = branch(run, "1", 4, tmp_path / "b", agent=f"{agents}:Successor", attempts=1)
    assert report.outcomes == {"environment_error": 1}
    (row,) = load_run(tmp_path / "b")
    assert "could not be restored" in row.metadata.error and row.reward is None


def test_a_branch_can_be_played_again(solved, agents, tmp_path):
    run, _ = solved
    branch(run, "1", 3, tmp_path / "b", agent=f"{agents}:Solver", attempts=1)
    (row,) = load_run(tmp_path / "b")
    assert row.outcome == "solved" and len(row.trajectory) == 9
    assert replay(tmp_path / "b", "1", tmp_path / "again").same
