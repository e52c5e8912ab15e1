"""Steps of different producers are read the same way."""

from __future__ import annotations

import pytest

from redtogreen.records import Feedback, Step
from redtogreen.records.views import applied, compile_error, is_test_run


def step(action: str, *, params: dict | None = None, observation: dict | None = None, **feedback) -> Step:
    return Step(
        stage="coding",
        step=1,
        action=action,
        params=params or {},
        observation=observation or {},
        feedback=Feedback(**feedback),
    )


def test_applied_is_found_in_feedback_or_observation() -> None:
    assert applied(step("edit_file", applied=True))
    assert applied(step("edit_file", observation={"applied": True}))
    assert not applied(step("edit_file", observation={"applied": True}, applied=False))
    assert not applied(step("edit_file"))
    assert not applied(step("run_command", observation={"applied": True}))


@pytest.mark.parametrize(
    "cmd, expected",
    [
        ("python -m pytest -q", True),
        ("pytest tests", True),
        ("tox -e py", True),
        ("ls", False),
        ("cat pytest_x", False),
    ],
)
def test_a_test_run_may_arrive_as_a_command(cmd: str, expected: bool) -> None:
    assert is_test_run(step("run_command", params={"cmd": cmd})) is expected


def test_counts_make_a_command_a_test_run() -> None:
    assert is_test_run(step("run_command", params={"cmd": "make check"}, passed=3, failed=0))
    assert is_test_run(step("run_test"))
    assert not is_test_run(step("edit_file", passed=1))


def test_compile_error_absent_means_not_said() -> None:
    assert compile_error(step("run_test")) is None
    assert compile_error(step("edit_file", observation={"parse_errors": 2})) is True
    assert compile_error(step("edit_file", observation={"parse_errors": 0})) is False
    assert compile_error(step("edit_file", observation={"parse_errors": 0}, compile_error=True)) is True
