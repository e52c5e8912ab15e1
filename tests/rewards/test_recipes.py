"""The built-in recipes give the documented numbers, and broken recipes are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen.errors import UsageError
from redtogreen.records import Feedback, Grade, Metadata, Trajectory, read_strict
from redtogreen.rewards import component_names, find_component, list_recipes, load_recipe, score

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Trajectory:
    (row,) = read_strict(EXAMPLES / f"{name}.jsonl", Trajectory)
    return row


def test_the_worked_example_is_exactly_5_2() -> None:
    row = example("config-parser")
    result = score(row, load_recipe("classic"))
    assert result.reward == 5.2 == row.reward
    assert [(part.name, part.value, part.weight) for part in result.components] == [
        ("classic_base", 5.0, 1.0),
        ("applied_edits", 1.0, 0.2),
        ("empty_test_runs", 0.0, -0.1),
    ]


def test_the_worked_example_with_a_compile_error_is_exactly_minus_1_8() -> None:
    row = example("config-parser-compile-error")
    assert score(row, "classic").reward == -1.8 == row.reward


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_compile_error_reported_by_any_last_speaking_step_counts(index: int) -> None:
    """The same example with `compile_error` set on one step: the step that speaks last decides."""
    row = example("config-parser")
    row.trajectory[index].feedback.compile_error = True
    assert score(row, "classic").reward == (5.2 if index == 0 else -1.8)


def test_a_mended_compile_error_no_longer_counts(make) -> None:
    broken, mended = make.edit(1), make.edit(2)
    broken.feedback.compile_error = True
    mended.observation = {"parse_errors": 0}
    row = make.trajectory([broken, mended], outcome="solved", final_state=make.summary(4, 0))
    assert score(row, "classic").reward == 5.4


def test_counts_have_a_ceiling(make) -> None:
    steps = [make.edit(n) for n in range(1, 16)] + [make.tests_run(n, 0, 3) for n in range(16, 46)]
    row = make.trajectory(steps, outcome="failed", final_state=make.summary(0, 3))
    assert score(row, "classic").reward == 0.0  # 10 x 0.2 - 20 x 0.1


def test_three_empty_runs_cost_exactly_three_tenths(make) -> None:
    """Weights are the decimals a person wrote, so no binary dust gathers."""
    row = make.trajectory([make.tests_run(n, 0, 1) for n in (1, 2, 3)], final_state=make.summary(0, 1))
    assert score(row, "classic").reward == -0.3


def test_only_classic_warns() -> None:
    warned = {name for name in list_recipes() if load_recipe(name).warning}
    assert warned == {"classic"}
    assert "farm" in (load_recipe("classic").warning or "")


def test_the_default_recipe_pays_for_solving_only(make) -> None:
    steps = [make.edit(1), make.tests_run(2, 0, 2)]
    assert score(make.trajectory(steps, outcome="solved"), "default").reward == 1.0
    assert score(make.trajectory(steps, outcome="failed"), "default").reward == 0.0


@pytest.mark.parametrize("outcome", ["environment_error", "grader_error", "interrupted"])
def test_a_failure_of_the_machine_is_no_reward_at_all(make, outcome: str) -> None:
    row = make.trajectory([make.edit(1)], outcome=outcome, metadata=Metadata(error="disk full"))
    result = score(row, "classic")
    assert result.reward is None and result.steps == [] and result.components == []
    assert outcome in (result.reason or "") and "disk full" in (result.reason or "")


def test_an_unjudged_row_has_no_reward(make) -> None:
    result = score(make.trajectory([make.edit(1)]), "default")
    assert result.reward is None and "nothing says" in (result.reason or "")


def test_a_row_that_contradicts_its_grade_has_no_reward(make) -> None:
    grade = Grade(task_id="p/t/1", outcome="failed")
    row = make.trajectory([make.edit(1)], outcome="solved", metadata=Metadata(grade=grade))
    result = score(row, "default")
    assert result.reward is None and "contradicts" in (result.reason or "")


def test_tampering_pays_what_the_recipe_says_and_no_more(make, tmp_path: Path) -> None:
    row = make.trajectory([make.edit(n) for n in range(1, 5)], outcome="tampered", final_state=make.summary(9, 0))
    for recipe in list_recipes():
        result = score(row, recipe)
        assert (result.reward, result.gate) == (0.0, "tampered")
        assert sum(result.steps) == 0.0
    strict = tmp_path / "strict.toml"
    strict.write_text('name = "strict"\nversion = 3\ntampered = -1.0\n[[component]]\nname = "resolved"\nweight = 1.0\n')
    assert score(row, str(strict)).reward == -1.0


def test_components_can_be_left_out_and_the_score_says_so(make) -> None:
    row = make.trajectory([make.edit(1)], outcome="solved", final_state=make.summary(2, 0))
    result = score(row, "classic", without=["applied_edits"])
    assert result.reward == 5.0 and result.recipe == "classic without applied_edits"
    with pytest.raises(UsageError, match="no component 'applied_edit'") as caught:
        score(row, "classic", without=["applied_edit"])
    assert "applied_edits" in (caught.value.hint or "")
    with pytest.raises(UsageError):
        score(row, "outcome", without=["progress"])


def test_every_component_explains_itself(make) -> None:
    row = make.trajectory([make.edit(3), make.tests_run(4, 0, 1)], outcome="failed", final_state=make.summary(0, 1))
    for recipe in list_recipes():
        for part in score(row, recipe).components:
            assert part.meaning.endswith(".") and part.low <= part.value <= part.high and part.evidence
    edits = next(part for part in score(row, "classic").components if part.name == "applied_edits")
    assert [evidence.step for evidence in edits.evidence] == [3]


def test_all_components_have_a_range_a_unit_and_a_meaning() -> None:
    for name in component_names():
        component = find_component(name)
        assert component.name == name and component.low <= component.high and component.unit and component.meaning


def test_unknown_names_lead_to_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown reward recipe 'clasic'") as caught:
        load_recipe("clasic")
    assert "did you mean 'classic'?" in (caught.value.hint or "")
    assert "redtogreen recipe list" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="unknown reward component 'resolvd'") as caught:
        find_component("resolvd")
    assert "'resolved'" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name = ", "not valid TOML"),
        ('name = "x"\nversion = 1\n', "no component"),
        ('name = "x"\nversion = "one"\n', "version"),
        ('name = "x"\nversion = 1\nwieght = 2\n', "wieght"),
        ('name = "x"\nversion = 1\n[[component]]\nname = "resolvd"\nweight = 1.0\n', "resolvd"),
        ('name = "x"\nversion = 1\n[[component]]\nname = "resolved"\nweight = inf\n', "finite"),
        ('name = "x"\nversion = 1\n' + '[[component]]\nname = "resolved"\nweight = 1.0\n' * 2, "twice"),
    ],
)
def test_a_broken_recipe_is_refused_with_its_file_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="mine.toml") as caught:
        load_recipe(path)
    assert complaint in caught.value.message


def test_a_missing_recipe_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no reward recipe at"):
        load_recipe(tmp_path / "none.toml")


class HalfSteps:
    """A plugin in the form of `protocols.RewardComponent`: no unit, nothing placed."""

    name, low, high, meaning = "half_steps", 0.0, 10.0, "Half of the number of steps."

    def measure(self, trajectory: Trajectory):
        from redtogreen.protocols import Measurement

        return Measurement(len(trajectory.trajectory) / 2)


class OutOfRange(HalfSteps):
    high = 0.1


class Creative(HalfSteps):
    """States that it only places credit, and creates some."""

    low = high = 0.0

    def measure(self, trajectory: Trajectory):
        from redtogreen.rewards import Measurement

        return Measurement(0, [], [1] * len(trajectory.trajectory))


half, out_of_range, creative = HalfSteps(), OutOfRange(), Creative()


def plugin_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    import sys

    monkeypatch.setitem(sys.modules, "plugin_under_test", sys.modules[__name__])
    path = tmp_path / "plugin.toml"
    path.write_text(f'name = "p"\nversion = 1\n[[component]]\nname = "plugin_under_test:{name}"\nweight = 0.1\n')
    return str(path)


def test_a_plugin_counts_like_a_built_in(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = make.trajectory([make.edit(n) for n in (1, 2, 3)], outcome="solved")
    assert score(row, plugin_recipe(tmp_path, monkeypatch, "half")).reward == 0.15


@pytest.mark.parametrize(("name", "complaint"), [("out_of_range", "outside"), ("creative", "only place credit")])
def test_a_plugin_that_breaks_its_word_is_named(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, complaint: str
) -> None:
    row = make.trajectory([make.edit(1)], outcome="solved")
    with pytest.raises(UsageError, match=complaint) as caught:
        score(row, plugin_recipe(tmp_path, monkeypatch, name))
    assert "half_steps" in caught.value.message and "fault" in (caught.value.hint or "")


def test_counts_of_a_run_command_are_read_from_its_output(make) -> None:
    """Another producer's rows: no counts in the feedback, only text."""
    runs = [make.tests_run(n, None, None) for n in (1, 2, 3, 4)]
    runs[0].observation = {"stdout_tail": "3 failed in 0.1s", "exit_code": 1}
    runs[1].observation = {"output": "2 passed, 1 failed", "exit_code": 1}
    runs[2].observation = {"exit_code": 0}
    runs[3].feedback = Feedback(status="timeout")
    row = make.trajectory(runs, outcome="failed", final_state=make.summary(0, 1))
    part = next(part for part in score(row, "classic").components if part.name == "empty_test_runs")
    assert [evidence.step for evidence in part.evidence] == [1, 4]
