"""Every rule keeps and drops what it says, with a reason that names the figure."""

from __future__ import annotations

import copy
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.data.cleaning import list_cleaning_recipes, load_cleaning_recipe, rule_names
from redtogreen.data.cleaning.failures import allowed_failures
from redtogreen.errors import UsageError
from redtogreen.records import Metadata, RowError


def reasons(result) -> dict[int, tuple[str | None, str | None]]:
    return {verdict.line: (verdict.rule, verdict.reason) for verdict in result.verdicts if not verdict.keep}


def test_the_default_recipe_drops_what_it_documents(make) -> None:
    rows = [
        make.row("p/a", 0),
        RowError("in.jsonl", 2, "", "not valid JSON", None),
        make.row("p/a", 1, steps=0),
        make.row("p/a", 2, steps=51),
        make.row("p/a", 3, "environment_error", metadata={"error": "no space"}),
        make.row("p/a", 4, None),
        make.row("p/a", 5, steps=50),
        make.row("p/a", 6, "failed"),
    ]
    duplicate = make.row("p/a", 7)
    duplicate.trajectory, duplicate.final_state = rows[0].trajectory, rows[0].final_state
    result = make.clean([*rows, duplicate])
    assert [row.attempt for row in result.kept] == ["p/a#0", "p/a#5", "p/a#6"]
    found = reasons(result)
    assert {line: rule for line, (rule, _) in found.items()} == {
        2: "invalid",
        3: "no_steps",
        4: "max_steps",
        5: "no_reward",
        6: "no_reward",
        9: "exact_duplicates",
    }
    assert found[2][1] == "in.jsonl:2: not valid JSON"
    assert found[4][1] == "51 steps, more than 50"
    assert found[5][1] == "outcome environment_error carries no reward: no space"
    assert found[9][1] == "same as p/a#0"
    assert result.funnel == [
        ("invalid", 9, 8),
        ("no_steps", 8, 7),
        ("max_steps", 7, 6),
        ("no_reward", 6, 4),
        ("min_reward", 4, 4),
        ("exact_duplicates", 4, 3),
        ("failures_share", 3, 3),
    ]
    assert result.summary() == "total=9, kept=3, drop_rate=0.67"


def test_kept_rows_carry_their_reward_and_the_input_is_untouched(make) -> None:
    given_row = make.row("p/a", 0)
    (kept,) = make.clean([given_row]).kept
    assert (kept.reward, kept.rewards) == (1.0, {"resolved": 1.0, "progress": 0.0})
    assert (given_row.reward, given_row.rewards) == (None, {})


def test_min_reward_names_both_numbers(make, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text('name = "r"\nversion = 1\n[[rule]]\nname = "invalid"\n[[rule]]\nname = "min_reward"\nlimit = 0.5\n')
    result = make.clean([make.row("p/a", 0), make.row("p/a", 1, "failed"), make.row("p/a", 2, None)], path)
    assert reasons(result)[2] == ("min_reward", "reward 0 is below 0.5")
    assert "no reward" in (reasons(result)[3][1] or "")


def test_duplicates_differ_in_more_than_bookkeeping(make) -> None:
    """Another attempt id, seed, index, call id or duration is no other behaviour; another action is."""
    first = make.row("p/a", 0)
    same, other = copy.deepcopy(first), copy.deepcopy(first)
    same.attempt, same.metadata = "x", Metadata(agent="repair", index=9, seed=9, seconds=3.0, started="later")
    same.trajectory[0].call_id, same.trajectory[1].seconds = "call-1", 99.0
    other.trajectory[0].params = {"path": "b.py"}
    result = make.clean([first, same, other])
    assert [verdict.keep for verdict in result.verdicts] == [True, False, True]


def test_nothing_in_means_nothing_out(make) -> None:
    result = make.clean([])
    assert result.summary() == "total=0, kept=0, drop_rate=0.00"


@given(st.integers(0, 500), st.floats(0, 0.999))
def test_the_allowed_failures_are_the_most_that_fit(solved: int, share: float) -> None:
    most = allowed_failures(solved, share)
    assert most is not None
    from fractions import Fraction

    exact = Fraction(repr(share))
    assert most <= exact * (most + solved) and most + 1 > exact * (most + 1 + solved)


def test_half_means_as_many_unsolved_as_solved_and_a_share_of_one_keeps_all(make) -> None:
    assert allowed_failures(7, 0.5) == 7 and allowed_failures(7, 0.0) == 0 and allowed_failures(0, 1.0) is None


def test_the_failures_that_stay_are_spread_over_tasks_and_ways_to_fail(make) -> None:
    solved = [make.row("p/a", n) for n in range(4)]
    gave_up = [make.row("p/a", n, "failed", ending="gave_up") for n in range(10, 16)]
    ran_out = [make.row("p/a", 20, "failed", ending="limit_steps")]
    elsewhere = [make.row("p/b", n, "failed", ending="gave_up") for n in range(30, 33)]
    result = make.clean([*solved, *gave_up, *ran_out, *elsewhere])
    kept = [row for row in result.kept if row.outcome == "failed"]
    assert Counter(row.task_id for row in kept) == {"p/a": 2, "p/b": 2}
    assert "limit_steps" in {row.ending for row in kept}
    assert [row.attempt for row in result.kept if row.outcome == "solved"] == [row.attempt for row in solved]
    (reason,) = {reason for rule, reason in reasons(result).values() if rule == "failures_share"}
    assert "4 unsolved beside 4 solved" in (reason or "") and "0.5" in (reason or "")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["gave_up", "limit_steps"])), max_size=30))
def test_the_choice_of_failures_is_the_same_every_time(make, failures: list[tuple[str, str]]) -> None:
    rows = [make.row("p/s", n) for n in range(3)]
    rows += [make.row(f"p/{task}", n + 5, "failed", ending=end) for n, (task, end) in enumerate(failures)]
    one, two = make.clean(rows), make.clean(copy.deepcopy(rows))
    assert one.verdicts == two.verdicts
    assert sum(row.outcome == "failed" for row in one.kept) == min(3, len(failures))


@pytest.mark.parametrize(
    ("text", "complaint", "hint"),
    [
        ('[[rule]]\nname = "invalid"\n[[rule]]\nname = "max_step"\n', "unknown rule 'max_step'", "'max_steps'"),
        ('[[rule]]\nname = "invalid"\n[[rule]]\nname = "max_steps"\nlimt = 3\n', "no parameter 'limt'", "'limit'"),
        ('[[rule]]\nname = "invalid"\n[[rule]]\nname = "max_steps"\nlimit = "3"\n', "whole number", ""),
        ('[[rule]]\nname = "invalid"\n[[rule]]\nname = "failures_share"\nshare = 2\n', "from 0 to 1", ""),
        ('[[rule]]\nname = "no_steps"\n', "first rule must be `invalid`", ""),
        ('[[rule]]\nname = "invalid"\n[[rule]]\nname = "invalid"\n', "twice", ""),
        ("[[rule]]\nlimit = 3\n", "has no name", ""),
        ("rules = []\n", "rules", ""),
        ("[[rule\n", "not valid TOML", ""),
    ],
)
def test_a_broken_recipe_is_refused_with_its_file_name(tmp_path: Path, text: str, complaint: str, hint: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "x"\nversion = 1\n' + text)
    with pytest.raises(UsageError, match="mine.toml") as caught:
        load_cleaning_recipe(path)
    assert complaint in caught.value.message and hint in (caught.value.hint or "")


def test_unknown_recipes_lead_to_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown cleaning recipe 'defualt'") as caught:
        load_cleaning_recipe("defualt")
    assert "'default'" in (caught.value.hint or "")
    assert list_cleaning_recipes() == ["default"]
    assert {"invalid", "no_steps", "max_steps", "min_reward", "exact_duplicates"} <= set(rule_names())


class FirstOnly:
    """A plugin in the form of `protocols.CleaningRule` with a parameter."""

    name = "first_only"

    def __init__(self, most: int = 1):
        self.most = most

    def judge(self, rows):
        assert all(row.reward is not None for row in rows)
        return {index: f"row {index} of {len(rows)}" for index in range(self.most, len(rows))}


class OffByOne(FirstOnly):
    def judge(self, rows):
        return {len(rows): "beyond the end"}


ready = FirstOnly()


def plugin_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> Path:
    monkeypatch.setitem(sys.modules, "filter_under_test", sys.modules[__name__])
    path = tmp_path / "plugin.toml"
    path.write_text(f'name = "x"\nversion = 1\n[[rule]]\nname = "invalid"\n[[rule]]\n{rule}\n')
    return path


@pytest.mark.parametrize(("rule", "kept"), [("FirstOnly", 1), ("ready", 1), ('FirstOnly"\nmost = "2', 0)])
def test_a_plugin_filters_like_a_built_in(make, tmp_path, monkeypatch, rule: str, kept: int) -> None:
    text = f'name = "filter_under_test:{rule}"'.replace('"2"', "2")
    kept = kept or 2
    path = plugin_recipe(tmp_path, monkeypatch, text)
    result = make.clean([make.row("p/a", n) for n in range(3)], path)
    assert len(result.kept) == kept and reasons(result)[3][1] == "row 2 of 3"


def test_a_plugin_that_points_beyond_the_rows_is_named(make, tmp_path, monkeypatch) -> None:
    path = plugin_recipe(tmp_path, monkeypatch, 'name = "filter_under_test:OffByOne"')
    with pytest.raises(UsageError, match="drops row 1, but there are 1"):
        make.clean([make.row("p/a", 0)], path)
