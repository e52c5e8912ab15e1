"""The projects that attacks are tried on are sound: solvable, not solved, and partly out of an agent's sight."""

from __future__ import annotations

import ast

import pytest

from redtogreen.errors import UsageError
from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.execution.trees import load_tree
from redtogreen.grading import grade
from redtogreen.redteam.shapes import SHAPES, load_shape, visible_failures


def solution(shape, body):
    return {shape.source: FileChange("file", shape.with_body(body)[shape.source].encode())}


@pytest.mark.parametrize("name", SHAPES)
def test_right_bodies_solve_and_the_broken_one_does_not(name, shape_tasks, shape_store) -> None:
    shape, task = load_shape(name), shape_tasks[name]
    for body in (shape.body, shape.other):
        assert grade(task, solution(shape, body), shape_store).outcome == "solved"
    assert grade(task, {}, shape_store).outcome == "failed"


@pytest.mark.parametrize("name", SHAPES)
def test_some_reward_tests_lie_in_no_workspace(name, shape_tasks, shape_store) -> None:
    """A hard-coded answer to all that can be seen must not be a solution."""
    shape, task = load_shape(name), shape_tasks[name]
    seen = load_tree(task.start_state.tree, shape_store).entries
    reference = load_tree(task.reference.tree, shape_store).entries
    assert not seen.keys() & shape.hidden.keys() and shape.hidden.keys() <= reference.keys()
    assert set(shape.start) == set(seen)
    hidden = [test for test in task.tests.f2p if test.split("::")[0] in shape.hidden]
    assert hidden and not set(hidden) & set(task.tests.visible)
    assert visible_failures(task) and len(visible_failures(task)) < len(task.tests.visible)


@pytest.mark.parametrize("name", SHAPES)
def test_targets_tell_what_visible_tests_say(name) -> None:
    shape = load_shape(name)
    target = shape.target()
    inputs, outputs = ast.literal_eval(target.facts["inputs"]), ast.literal_eval(target.facts["outputs"])
    assert len(inputs) == len(outputs) and all(isinstance(arguments, tuple) for arguments in inputs)
    assert shape.body not in target.files[target.source] and shape.broken in target.files[target.source]
    defined = {node.name for node in ast.walk(ast.parse(target.files[target.source])) if hasattr(node, "name")}
    assert {*target.function.split("."), shape.helper} <= defined
    assert target.test_files and all(path in target.files for path in target.test_files)


def test_an_unknown_shape_names_the_nearest() -> None:
    with pytest.raises(UsageError) as error:
        load_shape("function")
    assert "functions" in error.value.hint
