"""Agents that follow a script do exactly that, and say when the world answers differently."""

from __future__ import annotations

import logging

import pytest

from redtogreen.errors import AgentError, UsageError
from redtogreen.execution.sandboxes import FileChange
from redtogreen.execution.trees import difference, load_tree
from redtogreen.protocols import AgentSettings
from redtogreen.records import FinalState, StartState, Trajectory, write_jsonl
from redtogreen.registry import load
from redtogreen.trajectories.agents.scripted import Oracle, Replay, build_noop, build_oracle, build_replay


def reference(material, task):
    start, solved = (load_tree(name, material.store) for name in (task.start_state.tree, task.reference.tree))
    changes = difference(start, solved, material.store)
    return {path: change for path, change in changes.items() if not path.startswith("tests/")}


def test_the_oracle_solves_every_task_by_edits(material, attempt):
    for task in material.tasks:
        settings = AgentSettings(seed=1, reference=reference(material, task))
        done = attempt(task, build_oracle(settings))
        assert done.ending == "submitted" and done.final.feedback.failed == 0
        edits = [step for step in done.steps if step.action == "edit_file"]
        assert [step.params["start_line"] for step in edits] == [step.params["end_line"] for step in edits]


def test_the_oracle_creates_deletes_and_replaces_files(material, attempt):
    changes = {
        "words/new.py": FileChange("file", b"x = 1\n"),
        "words/__init__.py": FileChange("deleted"),
        "words/counting.py": FileChange("file", b"def count(text):\n    return 1\n\n\ndef most(text):\n    return 2"),
    }
    done = attempt(material.tasks[0], Oracle(changes))
    assert all(step.feedback.status == "ok" for step in done.steps if step.action != "open_file")
    shown = {step.action for step in done.steps}
    assert {"create_file", "delete_file", "edit_file"} <= shown


def test_the_oracle_needs_a_reference():
    assert build_oracle.needs_reference is True
    with pytest.raises(AgentError, match="reference"):
        build_oracle(AgentSettings(seed=1))
    with pytest.raises(AgentError, match="not text"):
        Oracle({"a.bin": FileChange("file", b"\xff\xfe")}).run(_Nowhere())


class _Nowhere:
    steps_left = 9

    def act(self, *args, **kwargs):
        return None


def test_noop_submits_and_does_nothing_else(material, attempt):
    done = attempt(material.tasks[0], build_noop(AgentSettings(seed=1)))
    assert [step.action for step in done.steps] == ["submit"] and done.final.feedback.failed == 2


def recorded(material, done) -> Trajectory:
    return Trajectory(
        task_id=material.tasks[0].task_id,
        attempt="one",
        task_desc="",
        start_state=StartState(),
        trajectory=done.steps,
        final_state=FinalState(patch=""),
    )


def test_replay_takes_the_same_steps_and_gets_the_same_answers(material, attempt, tmp_path):
    task = material.tasks[0]
    first = attempt(task, Oracle(reference(material, task)))
    write_jsonl(tmp_path / "t.jsonl", [recorded(material, first)])
    agent = build_replay(AgentSettings(seed=9, options={"trajectory": f"{tmp_path}/t.jsonl#one"}))
    second = attempt(task, agent)
    assert second.steps == first.steps and agent.differences == []


def test_replay_says_which_answer_differs(material, attempt, caplog):
    task, other = material.tasks
    agent = Replay(recorded(material, attempt(task, Oracle(reference(material, task)))))
    with caplog.at_level(logging.WARNING):
        attempt(other, agent)
    assert agent.differences and "differs from the recorded one in" in caplog.text
    steps = [difference.step for difference in agent.differences]
    assert any(agent.trajectory.trajectory[step - 1].action == "run_test" for step in steps)


def test_replay_names_what_is_missing(material, attempt, tmp_path):
    write_jsonl(tmp_path / "t.jsonl", [recorded(material, attempt(material.tasks[0], Oracle({})))])
    for place, hint in (
        ("", "trajectory="),
        (f"{tmp_path}/x.jsonl#a", "one JSON"),
        (f"{tmp_path}/t.jsonl#on", "'one'"),
    ):
        with pytest.raises(UsageError) as error:
            build_replay(AgentSettings(seed=1, options={"trajectory": place}))
        assert hint in (error.value.hint or "")


def test_agents_are_registered_by_name():
    assert load("agents", "oracle") is build_oracle and load("agents", "noop") is build_noop
