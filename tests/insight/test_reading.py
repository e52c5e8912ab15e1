"""Steps, tables, facts and look-up as a person meets them on a terminal."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from msgspec import structs

from redtogreen.errors import UsageError
from redtogreen.insight.facts import failed_after_edit, gather
from redtogreen.insight.finding import find_attempt
from redtogreen.insight.steps import notable_steps, step_views, trajectory_text
from redtogreen.insight.tables import counts_table, funnel_table, outcome_table, table
from redtogreen.records import Feedback, Step, Trajectory
from redtogreen.rewards import score


def test_a_trajectory_reads_step_by_step_with_rewards(example: Trajectory) -> None:
    text = trajectory_text(example, score(example, "classic"))
    assert re.search(r"^  2  coding edit_file  src/config_parser\.py:88-92   reward \+0\.2$", text, re.M)
    assert re.search(r"^     feedback: 12 passed, 0 failed$", text, re.M)
    assert "reward: 5.2  (recipe classic)" in text
    assert "def parse_config" not in text.split("new_content")[0]


def test_without_a_score_no_reward_is_made_up(example: Trajectory) -> None:
    views = step_views(example, None, lines=5, characters=200)
    assert [view.reward for view in views] == [None, None, None]


def test_rewards_of_the_steps_add_up(example: Trajectory) -> None:
    found = score(example, "classic")
    views = step_views(example, found, lines=5, characters=200)
    assert sum(view.reward or 0 for view in views) == pytest.approx(found.reward)


def test_a_hostile_trajectory_cannot_steer_the_terminal(hostile: Trajectory) -> None:
    text = trajectory_text(hostile, score(hostile, "default"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 30_000


def test_a_long_attempt_shows_ends_and_changes(example: Trajectory) -> None:
    read = example.trajectory[0]
    edit = structs.replace(example.trajectory[1])
    steps = [read] * 50 + [edit] + [read] * 50
    assert notable_steps(structs.replace(example, trajectory=steps), 10) >= {0, 50, 100}
    assert len(notable_steps(structs.replace(example, trajectory=steps), 10)) == 10
    assert notable_steps(example, 10) == {0, 1, 2}


def test_a_recovery_is_a_failing_run_after_an_edit(example: Trajectory) -> None:
    red = Step(
        stage="coding",
        step=3,
        action="run_test",
        params={},
        observation={},
        feedback=Feedback(status="ok", passed=1, failed=2),
    )
    read, edit, green = example.trajectory
    assert not failed_after_edit(example)
    assert not failed_after_edit(structs.replace(example, trajectory=[read, red, edit, green]))
    recovering = structs.replace(example, trajectory=[read, edit, red, green])
    assert failed_after_edit(recovering)
    assert gather("x", [recovering, example], lambda row: score(row, "default")).recovered == 1


def test_facts_count_attempts_tasks_and_rewards(example: Trajectory) -> None:
    lost = structs.replace(example, attempt="b", outcome="environment_error", success=None, reward=None)
    other = structs.replace(example, task_id="other/x/1", attempt="c", outcome="failed", success=False)
    facts = gather("x", [example, lost, other], lambda row: score(row, "outcome"))
    assert facts.outcomes == Counter(solved=1, environment_error=1, failed=1)
    assert (facts.attempts, facts.tasks, facts.tasks_solved) == (3, 2, 1)
    assert sorted(facts.rewards) == [0.0, 1.0]
    assert {outcome for row, _ in facts.shown for outcome in [row.outcome]} == {None, "environment_error", "failed"}


def test_tables_stay_aligned_with_wide_and_hostile_cells() -> None:
    text = table(["name", "n"], [["漢字", 1], ["a\x1b[2Jb", 22], ["long " * 40, 3]])
    assert "\x1b" not in text
    assert text.splitlines()[2].startswith("漢字")
    assert text.splitlines()[2].endswith(" 1")
    assert len(set(map(len, (line.rstrip() for line in text.splitlines()[3:])))) == 1


def test_shares_are_of_the_stage_they_belong_to() -> None:
    text = funnel_table([("candidates", 10), ("admitted", 5), ("attempts", 15), ("solved", 3)])
    assert "50 % of candidates" in text
    assert "20 % of attempts" in text
    assert "150 %" not in text


def test_a_solve_rate_counts_only_what_carries_a_reward() -> None:
    text = outcome_table("project", {"toolz": {"solved": 1, "failed": 1, "environment_error": 8}})
    assert text.splitlines()[-1].split()[-2:] == ["50", "%"]
    assert "survived" in counts_table("reason", {"survived": 2, "none": 0})
    assert "none" not in counts_table("reason", {"survived": 2, "none": 0})


def test_an_attempt_is_found_by_part_of_its_id_or_number(example: Trajectory) -> None:
    rows = [structs.replace(example, attempt=f"toolz/x/{key}:repair:0:{index}") for key in "ab" for index in range(2)]
    assert find_attempt(lambda: rows, "toolz/x/a:repair:0:1", "RUN") is rows[1]
    assert find_attempt(lambda: rows, "b:repair:0:0", "RUN") is rows[2]
    assert find_attempt(lambda: rows, "4", "RUN") is rows[3]
    assert find_attempt(lambda: rows, "x/b:repair:0:1", "RUN") is rows[3]
    assert find_attempt(lambda: rows[1:3], "x/b", "RUN") is rows[2], "any part that fits one"
    with pytest.raises(UsageError, match="fits 2 attempts of RUN"):
        find_attempt(lambda: rows, "repair:0:1", "RUN")
    with pytest.raises(UsageError, match="holds no attempt") as caught:
        find_attempt(lambda: rows, "toolz/x/a:repare:0:1", "RUN")
    assert "toolz/x/a:repair:0:1" in (caught.value.hint or "")
