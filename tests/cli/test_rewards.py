"""`score`, `recipe` and `list` on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("file", "reward"), [("config-parser.jsonl", 5.2), ("config-parser-compile-error.jsonl", -1.8)]
)
def test_the_worked_examples_score_exactly(cli, file, reward) -> None:
    done = cli("score", EXAMPLES / file, "--recipe", "classic", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["recipe"] == "classic"
    assert [row["reward"] for row in said["rewards"]] == [reward]
    assert {"task_id", "attempt", "components"} <= set(said["rewards"][0])
    text = cli("score", EXAMPLES / file, "--recipe", "classic")
    assert text.stdout.split()[0] == str(reward)
    assert "warning: " in text.stderr
    assert "classic_base" in text.stdout


def test_a_component_can_be_left_out(cli) -> None:
    done = cli("score", EXAMPLES / "config-parser.jsonl", "--recipe", "classic", "--without", "applied_edits", "--json")
    said = json.loads(done.stdout)
    assert said["rewards"][0]["reward"] == 5.0
    assert said["recipe"] == "classic without applied_edits"


def test_scores_can_go_to_a_file(cli, tmp_path: Path) -> None:
    done = cli("score", EXAMPLES / "config-parser.jsonl", "--recipe", "outcome", "--out", "scores.jsonl", "--json")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [row["reward"] for row in rows] == [row["reward"] for row in json.loads(done.stdout)["rewards"]] == [1.0]


def test_many_rows_are_summed_up(cli, tmp_path: Path) -> None:
    line = (EXAMPLES / "config-parser.jsonl").read_text()
    other = (EXAMPLES / "config-parser-compile-error.jsonl").read_text()
    (tmp_path / "rows.jsonl").write_text(line * 2 + other * 2)
    done = cli("score", "rows.jsonl", "--recipe", "classic")
    assert "4 rows, 4 with a reward: mean 1.7, from -1.8 to 5.2" in done.stdout
    assert "classic_base" not in done.stdout


def test_a_recipe_shows_weight_range_and_meaning(cli) -> None:
    done = cli("recipe", "show", "classic")
    assert done.returncode == 0
    assert "applied_edits" in done.stdout
    assert "0 to 10" in done.stdout
    assert "warning: " in done.stdout
    said = json.loads(cli("recipe", "show", "default", "--json").stdout)
    assert [part["name"] for part in said["components"]] == ["resolved", "progress"]
    assert {row["name"] for row in json.loads(cli("recipe", "list", "--json").stdout)["recipes"]} == {
        "classic",
        "default",
        "outcome",
    }


@pytest.mark.parametrize("kind", ["agents", "exports", "filters", "operators", "recipes", "rewards", "sources"])
def test_every_kind_can_be_listed_with_what_each_is(cli, kind) -> None:
    said = json.loads(cli("list", kind, "--json").stdout)
    assert said["names"] == sorted(said["names"])
    assert said["names"]
    assert all(text and "failed to import" not in text for text in said["about"].values())
    text = cli("list", kind).stdout
    assert all(name in text for name in said["names"])


def test_sources_say_what_they_are_good_for(cli) -> None:
    said = json.loads(cli("sources", "--json").stdout)["sources"]
    assert [row["name"] for row in said] == ["mutate", "folder"]
    assert all(row["use"] and row["cost"] and row["tasks"] == 0 for row in said)
    assert "evaluation" in cli("sources").stdout
