"""A collection records everything, goes on after any crash, and overwrites nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from redtogreen.errors import RecordError, UsageError
from redtogreen.execution.trees import load_tree
from redtogreen.records import ComponentScore, Score, Trajectory
from redtogreen.records.canonical import canonical_trajectory
from redtogreen.tasks.files import blobs_of
from redtogreen.trajectories.collection.collect import attempt_seed, collect
from redtogreen.trajectories.collection.load import DamagedJournal, load_run
from redtogreen.trajectories.collection.run_folder import RunFolder

COUNT, MOST = "words-1.0/count/aaaaaa", "words-1.0/most/bbbbbb"


def flat(row: Trajectory) -> dict:
    return canonical_trajectory(row)


def test_a_run_is_recorded_whole_and_reads_back(material, agents, tmp_path):
    events = []
    report = collect(
        material.file, f"{agents}:Solver", tmp_path / "run", attempts=1, workers=2, seed=7, on_event=events.append
    )
    assert report.attempts == 2 and report.outcomes == {"failed": 1, "solved": 1} and report.damage == []
    rows = list(load_run(tmp_path / "run"))
    assert [(row.task_id, row.metadata.index) for row in rows] == [(COUNT, 0), (MOST, 0)]
    row = rows[0]
    assert row.attempt == f"{COUNT}:{agents}:Solver:7:0" and row.metadata.seed == attempt_seed(7, COUNT, 0)
    assert row.outcome == "solved" and row.success is True and row.reward is None and row.ending == "submitted"
    assert [step.stage for step in row.trajectory] == ["plan", "plan", "coding", "coding", "coding", "coding"]
    assert row.final_state.test_summary.passed == 4 and row.metadata.grade.completion is True
    assert row.final_state.patch == row.trajectory[3].diff and row.final_state.tree == row.trajectory[3].tree
    assert row.trajectory[3].call == {"name": "str_replace"} and row.trajectory[3].call_id == "c1"
    assert row.extra["start_probe"]["failure_stage"] == "assertion"
    assert row.metadata.sandbox["guarantees"]["network"] == "enforced"
    assert row.metadata.sandbox["tier"].startswith("namespaces+")
    assert rows[1].outcome == "failed" and rows[1].success is False and rows[1].final_state.patch == ""
    shown = {(event["attempt"], event["step"]) for event in events if event["event"] == "step"}
    assert shown == {(row.attempt, step.step) for row in rows for step in row.trajectory}
    assert sum(event["event"] == "attempt_finished" for event in events) == 2

    again = collect(material.file, f"{agents}:Solver", tmp_path / "again", attempts=1, workers=1, seed=7)
    assert again.outcomes == report.outcomes
    assert [flat(row) for row in load_run(tmp_path / "again")] == [flat(row) for row in rows], (
        "equal settings, equal run"
    )

    before = sorted(path.name for path in (tmp_path / "run" / "journal").iterdir())
    repeated = collect(material.file, f"{agents}:Solver", tmp_path / "run", attempts=1, workers=2, seed=7)
    assert repeated == report and sorted(path.name for path in (tmp_path / "run" / "journal").iterdir()) == before

    # The tables hold every attempt, and the steps of the two stages apart.
    table = pq.read_table(tmp_path / "run" / "trajectories.parquet").to_pylist()
    assert [(one["attempt"], one["outcome"], one["steps"]) for one in table] == [
        (row.attempt, row.outcome, len(row.trajectory)) for row in rows
    ]
    for stage in ("plan", "coding"):
        (part,) = (tmp_path / "run" / "steps").glob(f"{stage}-*.parquet")
        found = [(one["attempt"], one["step"], one["action"]) for one in pq.read_table(part).to_pylist()]
        assert found == [
            (row.attempt, step.step, step.action) for row in rows for step in row.trajectory if step.stage == stage
        ]


def test_a_run_folder_stands_on_its_own(material, agents, tmp_path):
    """The run still works when the tasks file and its blobs are gone, and a copy of the run elsewhere does too."""
    file = tmp_path / "tasks.jsonl"
    shutil.copy(material.file, file)
    shutil.copytree(material.store.root, tmp_path / "tasks.blobs")
    collect(file, f"{agents}:Nothing", tmp_path / "run", attempts=1)
    linked = next(path for path in (tmp_path / "tasks.blobs").rglob("*") if path.is_file())
    assert linked.stat().st_nlink == 2 or not (tmp_path / "run/tasks.blobs" / linked.parent.name / linked.name).exists()
    shutil.rmtree(tmp_path / "tasks.blobs")
    run = RunFolder.open(tmp_path / "run")
    assert [task.task_id for task in run.tasks()] == [COUNT, MOST]
    for task in run.tasks():
        assert run.task_blobs.has(task.start_state.tree) and run.task_blobs.has(task.environment)


def outcomes(run: Path) -> list[tuple]:
    return [(row.outcome, row.ending, row.metadata.error) for row in load_run(run)]


@pytest.mark.parametrize(
    ("agent", "ending", "error"),
    [
        ("Nothing", "submitted", None),
        ("Swallow", "submitted", None),
        ("Seeded", "gave_up", None),
        ("Crash", "stopped", "ValueError: the agent broke"),
        ("Endless", "limit_steps", None),
    ],
)
def test_how_an_attempt_ends(material, agents, tmp_path, agent, ending, error):
    """An agent's own failure is data: the workspace is judged all the same."""
    collect(material.file, f"{agents}:{agent}", tmp_path / "run", attempts=1)
    assert outcomes(tmp_path / "run") == [("failed", ending, error)] * 2


def test_an_agent_that_cannot_be_made_for_a_task_has_failed_there(material, tmp_path):
    file = tmp_path / "plain.jsonl"
    task = msgspec.structs.replace(material.tasks[0], reference=None)
    file.write_bytes(msgspec.json.encode(task) + b"\n")
    for name in (task.start_state.tree, task.environment):
        blobs_of(file).copy_from(material.store, name)
    for entry in load_tree(task.start_state.tree, material.store).entries.values():
        blobs_of(file).copy_from(material.store, entry.name)
    collect(file, "oracle", tmp_path / "run", attempts=1)
    (row,) = load_run(tmp_path / "run")
    assert row.outcome == "failed" and row.ending == "stopped" and "needs a reference" in row.metadata.error


def test_the_oracle_solves_what_has_a_reference(material, tmp_path):
    report = collect(material.file, "oracle", tmp_path / "run", attempts=1)
    assert report.outcomes == {"solved": 2}


def limited(material, folder: Path, **limits) -> Path:
    """A copy of the first task with other limits."""
    file = folder / "limited.jsonl"
    task = material.tasks[0]
    task = msgspec.structs.replace(task, limits=msgspec.structs.replace(task.limits, **limits))
    file.write_bytes(msgspec.json.encode(task) + b"\n")
    shutil.copytree(material.store.root, folder / "limited.blobs", copy_function=os.link)
    return file


def test_an_agent_that_never_comes_back_is_stopped_at_its_limit(material, agents, tmp_path):
    file = limited(material, tmp_path, seconds=3)
    began = time.monotonic()
    collect(file, f"{agents}:Hanging", tmp_path / "run", attempts=1)
    assert outcomes(tmp_path / "run") == [("failed", "limit_seconds", None)] and time.monotonic() - began < 60


def test_an_agent_that_ends_for_nothing_is_judged_by_what_it_left(material, agents, tmp_path):
    """It swallows every exception: its process is lost, its work is not, and it is not tried again."""
    file = limited(material, tmp_path, seconds=3)
    events = []
    report = collect(file, f"{agents}:Deaf", tmp_path / "run", attempts=1, on_event=events.append)
    assert report.outcomes == {"solved": 1}
    (row,) = load_run(tmp_path / "run")
    assert row.ending == "limit_seconds" and row.success and len(row.trajectory) == 1 and "+ 1" in row.final_state.patch
    assert [event["event"] for event in events if event["event"] != "step"] == ["attempt_started", "attempt_finished"]
    assert collect(file, f"{agents}:Deaf", tmp_path / "run", attempts=1).attempts == 1


@pytest.mark.parametrize("options", [{}, {"early": "yes"}])
def test_an_attempt_that_loses_its_worker_is_made_twice_and_then_given_up(material, agents, tmp_path, options):
    file = limited(material, tmp_path)
    for _ in range(2):
        report = collect(file, f"{agents}:Die", tmp_path / "run", attempts=1, options=options)
        assert report.outcomes == {"interrupted": 2}
    rows = list(load_run(tmp_path / "run"))
    assert [row.metadata.retry for row in rows] == [0, 1]
    assert all("exited with status 9" in row.metadata.error for row in rows), "why stands in the record"


def test_a_failure_of_the_machine_carries_no_reward_and_is_tried_once_more_later(material, agents, tmp_path):
    """A blob that is missing must not look like an attempt that failed."""
    file = limited(material, tmp_path)
    task = msgspec.json.decode(file.read_bytes())
    task["environment"] = task["start_state"]["tree"]  # a blob that is there and is no environment
    file.write_bytes(msgspec.json.encode(task) + b"\n")
    collect(file, f"{agents}:Nothing", tmp_path / "run", attempts=1)
    (row,) = load_run(tmp_path / "run")
    assert row.outcome == "environment_error" and row.success is None and row.reward is None
    assert "environment" in row.metadata.error and row.final_state.test_summary is None
    for _ in range(2):
        report = collect(file, f"{agents}:Nothing", tmp_path / "run", attempts=1)
    assert report.outcomes == {"environment_error": 2}
    assert [row.attempt.rpartition(":")[2] for row in load_run(tmp_path / "run")] == ["0", "retry1"]


def test_secrets_stand_nowhere_in_the_run_folder(material, agents, tmp_path):
    import zstandard

    collect(material.file, f"{agents}:Secretive", tmp_path / "run", attempts=1, workers=1)
    row = next(iter(load_run(tmp_path / "run")))
    assert row.metadata.redacted_files == ["config.py"] and row.metadata.redactions > 2
    text = b"".join(msgspec.json.encode(one) for one in load_run(tmp_path / "run"))
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            text += content
            if "blobs" in str(path.parent):
                text += zstandard.ZstdDecompressor().decompress(content)
    for part in pq.read_table(next((tmp_path / "run" / "steps").glob("coding-*"))).to_pylist():
        text += json.dumps(part).encode()
    for secret in (b"hunter2Xq9!zz81", b"AKIAQ3EGRZ7ABCDEFG2H", b"jane.doe@company.com"):
        assert secret not in text


def scorer(row: Trajectory) -> Score:
    value = 1.0 if row.outcome == "solved" else 0.0
    part = ComponentScore(name="resolved", value=value, weight=1, low=0, high=1, meaning="m")
    return Score(recipe="r", version=1, task_id=row.task_id, reward=value, components=[part])


@pytest.fixture
def scorers(tmp_path, monkeypatch):
    """Scorers in a module that workers can import."""
    import inspect

    folder = tmp_path / "scorer_modules"
    folder.mkdir()
    name = f"test_scorers_{os.getpid()}_{time.time_ns()}"
    head = "from redtogreen.records import ComponentScore, Score, Trajectory\n\n"
    broken = "\n\ndef broken(row):\n    raise ZeroDivisionError('no recipe')\n"
    (folder / f"{name}.py").write_text(head + inspect.getsource(scorer) + broken)
    monkeypatch.syspath_prepend(str(folder))
    return __import__(name)


def test_a_scorer_fills_in_reward_and_components(material, agents, scorers, tmp_path):
    collect(material.file, f"{agents}:Solver", tmp_path / "run", attempts=1, scorer=scorers.scorer)
    assert [(row.reward, row.rewards) for row in load_run(tmp_path / "run")] == [
        (1.0, {"resolved": 1.0}),
        (0.0, {"resolved": 0.0}),
    ]


def test_a_broken_scorer_stops_the_collection_but_costs_no_attempt(material, agents, scorers, tmp_path):
    with pytest.raises(ZeroDivisionError):
        collect(material.file, f"{agents}:Nothing", tmp_path / "run", attempts=1, workers=1, scorer=scorers.broken)
    rows = list(load_run(tmp_path / "run"))
    assert [row.outcome for row in rows if row.outcome != "interrupted"] == ["failed"]
    assert collect(material.file, f"{agents}:Nothing", tmp_path / "run", attempts=1).outcomes["failed"] == 2


def test_a_lost_worker_costs_one_attempt_which_is_made_again(material, agents, tmp_path):
    mark = tmp_path / "mark"
    mark.mkdir()
    events = []
    options = {"mark": str(mark)}
    report = collect(
        material.file, f"{agents}:DieOnce", tmp_path / "run", attempts=1, options=options, on_event=events.append
    )
    assert report.outcomes == {"failed": 2, "interrupted": 2}
    rows = list(load_run(tmp_path / "run"))
    assert [(row.attempt.rpartition(":")[2], row.outcome, row.metadata.retry) for row in rows] == [
        ("0", "interrupted", 0),
        ("retry1", "failed", 1),
    ] * 2
    assert [len(row.trajectory) for row in rows] == [1, 2, 1, 2], "what the lost attempt had done is kept"
    assert rows[0].metadata.seed == rows[1].metadata.seed and rows[0].reward is None and rows[0].success is None
    assert sum(event["event"] == "attempt_interrupted" for event in events) == 2
    table = pq.read_table(tmp_path / "run" / "trajectories.parquet").to_pylist()
    assert [one["outcome"] for one in table] == ["interrupted", "failed"] * 2


def test_other_settings_are_refused_by_name(material, agents, tmp_path):
    collect(material.file, f"{agents}:Nothing", tmp_path / "run", attempts=1)
    with pytest.raises(UsageError, match="`attempts` was 1, now it is 2"):
        collect(material.file, f"{agents}:Nothing", tmp_path / "run", attempts=2)
    with pytest.raises(UsageError, match="`agent`"):
        collect(material.file, f"{agents}:Solver", tmp_path / "run", attempts=1)
    with pytest.raises(UsageError, match="`seed`"):
        collect(material.file, f"{agents}:Nothing", tmp_path / "run", attempts=1, seed=1)
    (tmp_path / "m").mkdir()
    with pytest.raises(UsageError, match="`tasks`"):
        collect(limited(material, tmp_path / "m"), f"{agents}:Nothing", tmp_path / "run", attempts=1)


def test_wrong_calls_say_what_is_wrong(material, agents, tmp_path):
    with pytest.raises(UsageError, match="no tasks file"):
        collect(tmp_path / "none.jsonl", f"{agents}:Nothing", tmp_path / "run")
    with pytest.raises(UsageError, match="unknown agent"):
        collect(material.file, "no-such-agent", tmp_path / "run")
    with pytest.raises(UsageError, match="at least 1"):
        collect(material.file, f"{agents}:Nothing", tmp_path / "run", attempts=0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="thesis.txt"):
        collect(material.file, f"{agents}:Nothing", tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    with pytest.raises(UsageError, match="not a run folder"):
        list(load_run(tmp_path / "mine"))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UsageError, match="holds no tasks"):
        collect(tmp_path / "empty.jsonl", f"{agents}:Nothing", tmp_path / "run")


def test_tables_that_are_damaged_are_made_again_and_what_cannot_be_is_named(material, agents, tmp_path):
    """The journals are the authority; a run without them, or without its tasks, is not whole."""
    run = tmp_path / "run"
    collect(material.file, f"{agents}:Nothing", run, attempts=1)
    whole = pq.read_table(run / "trajectories.parquet").to_pylist()
    (run / "trajectories.parquet" / "part-00000.parquet").write_text("junk")
    collect(material.file, f"{agents}:Nothing", run, attempts=1)
    assert pq.read_table(run / "trajectories.parquet").to_pylist() == whole
    assert pq.read_table(next(run.glob("steps/plan-*"))).num_rows == 2 and len(list(run.glob("steps/plan-*"))) == 1
    (run / "tasks.jsonl").rename(tmp_path / "tasks.jsonl")
    with pytest.raises(RecordError, match="tasks.jsonl is missing: a run holds its own tasks"):
        collect(material.file, f"{agents}:Nothing", run, attempts=1)
    (run / "journal").rename(tmp_path / "journal")
    with pytest.raises(RecordError, match="journal is missing: it holds the record of every attempt"):
        list(load_run(run))


def test_a_damaged_journal_is_reported_and_everything_before_it_is_read(material, agents, tmp_path):
    collect(material.file, f"{agents}:Solver", tmp_path / "run", attempts=1, workers=1)
    whole = list(load_run(tmp_path / "run"))
    (journal,) = (tmp_path / "run" / "journal").glob("worker-*")
    content = bytearray(journal.read_bytes())
    content[len(content) * 3 // 4] ^= 0x10
    journal.write_bytes(content)
    with pytest.warns(DamagedJournal, match="at byte"):
        rows = list(load_run(tmp_path / "run"))
    assert rows[0] == whole[0] and rows[1].outcome == "interrupted"
    kept = len(rows[1].trajectory)
    assert rows[1].trajectory == whole[1].trajectory[:kept]
