"""run.toml: what it may hold, which place wins, and what a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen.config import load_settings, to_toml
from redtogreen.errors import UsageError

SETTINGS = """
seed = 3
out = "runs/a"
[[tasks]]
source = "mutate"
path = "project"
candidates = 5
[collect]
agent = "noop"
options = { a = "b" }
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "run.toml"
    file.write_text(text)
    return file


def test_defaults_fill_what_the_file_leaves_out(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, SETTINGS), environment={})
    assert settings.collect.agent == "noop" and settings.collect.attempts == 3
    assert settings.reward.recipe == "default" and settings.dataset.eval_share == 0.2


def test_paths_count_from_the_file(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, SETTINGS), environment={})
    assert settings.tasks[0].path == str(tmp_path / "project")
    assert settings.out == str(tmp_path / "runs/a")
    assert settings.dataset.root == str(tmp_path / "datasets")


def test_environment_beats_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, SETTINGS)
    settings = load_settings(file, environment={"REDTOGREEN_SEED": "9", "REDTOGREEN_WORKERS": "2"})
    assert settings.seed == 9 and settings.collect.workers == 2
    with pytest.raises(UsageError, match="REDTOGREEN_SEED"):
        load_settings(file, environment={"REDTOGREEN_SEED": "many"})


def test_written_settings_read_back_the_same(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, SETTINGS), environment={})
    again = write(tmp_path, to_toml(settings))
    assert load_settings(again, environment={}) == settings


@pytest.mark.parametrize(
    "text, said",
    [
        ("seed = 1", "missing required field `tasks`"),
        (SETTINGS.replace("agent", "agnet"), "agnet"),
        (SETTINGS.replace("seed = 3", "seed = 'x'"), "seed"),
        ("[[tasks]\n", "not valid TOML"),
    ],
)
def test_mistakes_name_file_and_field(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_settings(file, environment={})
    assert said in str(caught.value) and str(file) in str(caught.value)


def test_the_nearest_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean `agent`"):
        load_settings(write(tmp_path, SETTINGS.replace("agent", "agnet")), environment={})


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no settings file"):
        load_settings(tmp_path / "none.toml", environment={})


def test_a_run_may_require_guarantees(tmp_path):
    (tmp_path / "run.toml").write_text('[[tasks]]\nsource = "mutate"\npath = "."\n[collect]\nrequire = ["network"]\n')
    assert load_settings(tmp_path / "run.toml").collect.require == ["network"]
