"""The repair agent in real sandboxes: it solves small bugs, is deterministic, and never sees how tasks are made."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

import redtogreen.trajectories.agents as agents
from redtogreen.errors import UsageError
from redtogreen.protocols import AgentSettings
from redtogreen.registry import load
from redtogreen.trajectories.agents.repair import build
from redtogreen.trajectories.agents.repair.agent import shuffled
from redtogreen.trajectories.agents.repair.localise import Place

ID = "tests/test_counting.py::"


def settings(seed: int, **options: str) -> AgentSettings:
    return AgentSettings(seed=seed, temperature=0.7, options=options)


def described(task) -> str:
    return "These fail:\n\n    python -m pytest " + " ".join(task.tests.f2p)


@pytest.fixture(scope="module")
def solved(material):
    return {}


def test_it_solves_small_bugs_within_the_usual_limit(material, attempt):
    for task in material.tasks:
        runs = (attempt(task, build(settings(seed)), described(task), steps=30) for seed in range(3))
        done = next((run for run in runs if run.final.feedback.failed == 0), None)
        assert done is not None, task.task_id
        assert done.ending == "submitted" and done.steps[-1].action == "submit"
        assert done.steps[-2].action == "run_test" and done.steps[-2].params["tests"] is None, (
            "the whole suite comes last"
        )


def test_it_plans_first_and_writes_the_plan_down(material, attempt):
    done = attempt(material.tasks[0], build(settings(1)), described(material.tasks[0]))
    stages = [step.stage for step in done.steps]
    first = stages.index("coding")
    plan = done.steps[first - 1]
    assert plan.action == "write_plan" and "test_count" in plan.params["text"]
    assert done.steps[first].action == "run_test" and done.steps[first].params["coverage"]


def test_a_description_without_test_names_is_worked_on_all_the_same(material, attempt):
    done = attempt(material.tasks[1], build(settings(2)), "Something is wrong.")
    assert any(step.action == "edit_file" for step in done.steps)


def test_equal_settings_give_equal_steps_and_other_seeds_others(material, attempt):
    task = material.tasks[1]
    one, two, other = (attempt(task, build(settings(seed)), described(task)) for seed in (3, 3, 4))
    assert one.steps == two.steps
    assert [step.params for step in one.steps] != [step.params for step in other.steps]


def test_the_control_ranks_places_at_random(material, attempt):
    task = material.tasks[1]

    def edits(seed: int, **options: str) -> list:
        done = attempt(task, build(settings(seed, **options)), described(task))
        return [step.params for step in done.steps if step.action == "edit_file"]

    assert any(edits(seed) != edits(seed, shuffle_places="yes") for seed in (5, 6, 7))
    places = [Place("a.py", line, 1.0 / line) for line in range(1, 30)]
    dealt = shuffled(places, 1)
    assert sorted(place.weight for place in dealt) == sorted(place.weight for place in places) and dealt != places


def test_what_does_not_help_is_undone(material, attempt, unpack, tmp_path):
    """With steps for one try only, the workspace is left as it was, or solved."""
    task = material.tasks[0]
    start = (unpack(task, tmp_path / "start") / "words/counting.py").read_text()
    for seed in range(3):
        done = attempt(task, build(settings(seed)), described(task), steps=12)
        if done.ending == "gave_up":
            assert [line[7:] for line in done.shown["content"].split("\n")] == start.split("\n")[:-1]


def test_a_suite_with_nothing_wrong_is_submitted_as_it_is(material, attempt):
    task = msgspec.structs.replace(material.tasks[0], tests=material.tasks[0].tests)
    task = msgspec.structs.replace(
        task, tests=msgspec.structs.replace(task.tests, visible=[ID + "test_most_of_nothing"], f2p=[], p2p=[])
    )
    done = attempt(task, build(settings(1)), "All is well.")
    assert done.ending == "submitted" and not any(step.action == "edit_file" for step in done.steps)


def test_it_stops_cleanly_at_any_number_of_steps(material, attempt):
    task = material.tasks[0]
    for steps in (1, 3, 5, 6, 8):
        done = attempt(task, build(settings(7)), described(task), steps=steps)
        assert len(done.steps) <= steps and done.ending in ("gave_up", "limit_steps", "submitted")


def test_options_are_checked():
    with pytest.raises(UsageError, match="has no option 'shuffle'") as error:
        build(settings(1, shuffle="yes"))
    assert "shuffle_places" in error.value.hint
    with pytest.raises(UsageError, match="no or yes"):
        build(settings(1, shuffle_places="maybe"))
    assert load("agents", "repair") is build


def test_agents_know_nothing_of_how_tasks_are_made():
    """They import neither mutation nor tasks: what they can repair is not what was put in."""
    for path in Path(agents.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.startswith(("redtogreen.mutation", "redtogreen.tasks")) for name in names), path
