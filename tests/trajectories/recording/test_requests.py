"""Requests no sandbox could take are answered, not turned into failures of the machine."""

from __future__ import annotations

import pytest

from redtogreen.trajectories.recording.parameters import MAX_SECONDS, MAX_TEXT, problem_with


@pytest.mark.parametrize(
    "action, params, said",
    [
        ("run_command", {"cmd": "echo a\0b"}, "NUL"),
        ("open_file", {"path": "a\0b"}, "NUL"),
        ("run_test", {"seconds": 1e308}, "at most"),
        ("run_test", {"seconds": float("inf")}, "at most"),
        ("run_test", {"seconds": float("nan")}, "at most"),
        ("run_test", {"seconds": 0}, "above 0"),
        ("run_test", {"tests": ["a\0"]}, "NUL"),
        ("write_plan", {"text": "x" * (MAX_TEXT + 1)}, "characters"),
    ],
)
def test_impossible_requests_are_named(action: str, params: dict, said: str) -> None:
    problem = problem_with(action, params)
    assert problem is not None and said in problem


@pytest.mark.parametrize(
    "action, params",
    [("run_test", {"seconds": MAX_SECONDS}), ("create_file", {"path": "a", "content": "\0"}), ("run_test", {})],
)
def test_possible_ones_pass(action: str, params: dict) -> None:
    assert problem_with(action, params) is None
