"""Failures are read for what they say about the bug."""

from __future__ import annotations

import pytest

from redtogreen.trajectories.agents.repair.failure import Failure, hints_of


def kinds(exception: str, message: str) -> set[str]:
    return hints_of([Failure("t", exception, message)]).kinds


@pytest.mark.parametrize(
    ("exception", "message", "wanted"),
    [
        ("AssertionError", "assert 3 == 4", "off_by_one"),
        ("AssertionError", "assert [1, 2] == [1, 2, 3]", "shorter"),
        ("AssertionError", "assert [2, 1] == [1, 2]\n  At index 0 diff", "order"),
        ("AssertionError", "assert None == 4", "none"),
        ("AssertionError", "assert True is False", "negated"),
        ("AssertionError", "assert 'a-b' == 'a_b'", "text"),
        ("AssertionError", "assert {'a': 4} == {'a': 5}", "off_by_one"),
        ("AssertionError", "assert (1,) == [1]", "type"),
        ("AssertionError", "assert False\n +  where False = f(1)", "negated"),
        ("TypeError", "f() missing 1 required positional argument: 'x'", "arguments"),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'", "type"),
        ("AttributeError", "'NoneType' object has no attribute 'x'", "none"),
        ("UnboundLocalError", "cannot access local variable 'x'", "name"),
        ("KeyError", "'x'", "key"),
        ("IndexError", "list index out of range", "index"),
        ("Failed", "DID NOT RAISE <class 'ValueError'>", "not_raised"),
    ],
)
def test_a_failure_hints_at_a_kind_of_bug(exception, message, wanted):
    assert wanted in kinds(exception, message)


def test_names_texts_numbers_and_exceptions_are_collected():
    failures = [
        Failure("t", "AssertionError", "assert 'a-b' == 'a_b'"),
        Failure("u", "AttributeError", "'Box' object has no attribute 'lid'"),
    ]
    hints = hints_of(failures, "with pytest.raises(KeyError):\n    f(12)\n")
    assert ("a-b", "a_b") in hints.texts and "lid" in hints.names
    assert 12 in hints.numbers and {"KeyError", "AttributeError"} <= hints.exceptions


def test_a_message_that_cannot_be_read_says_little():
    assert kinds("AssertionError", "assert <Box object> == (((") == {"value"}
