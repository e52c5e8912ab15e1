"""The chain as a whole: from a bundled project to a dataset version, the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen import load_tasks, load_trajectories
from redtogreen.chain import bundled, demo_settings, run_chain
from redtogreen.config import ChainSettings, CollectSettings, DatasetSettings, TaskSettings
from redtogreen.errors import UsageError


def settings(out: Path, root: Path, seed: int = 1) -> ChainSettings:
    return ChainSettings(
        seed=seed,
        out=str(out),
        tasks=[TaskSettings(source="mutate", path=str(bundled("shelf")), candidates=4)],
        collect=CollectSettings(agent="repair", attempts=1, workers=2),
        dataset=DatasetSettings(name="small", root=str(root)),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    base = tmp_path_factory.mktemp("chain")
    first = run_chain(settings(base / "first", base / "datasets"))
    second = run_chain(settings(base / "second", base / "datasets"))
    return base, first, second


def test_every_stage_made_something(runs) -> None:
    base, first, _ = runs
    assert first.candidates == 4 and 1 <= first.admitted <= 4
    assert first.admitted + sum(first.dropped.values()) == first.candidates
    assert first.attempts == first.admitted == sum(first.outcomes.values())
    assert sum(first.rows.values()) == first.kept
    assert "<html" in Path(first.report).read_text()
    assert first.hash in first.text and "Type next" in first.text


def test_the_same_seed_gives_the_same_dataset(runs) -> None:
    """Clock times, durations and process ids must not reach the hash."""
    _, first, second = runs
    assert second.hash == first.hash
    assert second.reused and second.dataset == first.dataset


def test_every_row_leads_back_to_its_attempt_task_and_environment(runs) -> None:
    base, first, _ = runs
    tasks = {task.task_id: task for task in load_tasks(base / "first" / "run" / "tasks.jsonl")}
    attempts = {row.attempt for row in load_trajectories(base / "first" / "run")}
    rows = list(load_trajectories(first.dataset, base / "datasets"))
    assert rows
    for row in rows:
        assert row.attempt in attempts
        assert row.metadata.environment == tasks[row.task_id].environment


def test_a_finished_run_is_continued_without_doing_it_again(runs) -> None:
    base, first, _ = runs
    before = sorted((base / "first" / "run" / "journal").iterdir())
    again = run_chain(settings(base / "first", base / "datasets"))
    assert again.hash == first.hash
    assert {row.attempt for row in load_trajectories(base / "first" / "run")} == {
        row.attempt for row in load_trajectories(base / "second" / "run")
    }
    assert [path for path in before if not path.exists()] == []


def test_other_settings_in_the_same_folder_are_refused(runs) -> None:
    base, _, _ = runs
    with pytest.raises(UsageError, match="seed"):
        run_chain(settings(base / "first", base / "datasets", seed=2))


def test_a_second_demo_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    assert demo_settings(tmp_path, 0).out.endswith("/1")
    (tmp_path / "1").mkdir()
    assert demo_settings(tmp_path, 0).out.endswith("/1")
    (tmp_path / "1" / "report.html").write_text("")
    assert demo_settings(tmp_path, 0).out.endswith("/2")
