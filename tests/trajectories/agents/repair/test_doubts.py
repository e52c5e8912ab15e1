"""What cannot work, or cannot touch the crash, is not tried before what can."""

from __future__ import annotations

import ast

import pytest

from redtogreen.trajectories.agents.repair.blame import blamed
from redtogreen.trajectories.agents.repair.cures import NO_EFFECT, without_cure
from redtogreen.trajectories.agents.repair.doubts import absurd, idle
from redtogreen.trajectories.agents.repair.failure import Crash
from redtogreen.trajectories.agents.repair.reading import Function

KINDS = {"text": {"str"}, "found": {"dict"}, "self.name": {"str"}, "self.limit": {"int"}}


@pytest.mark.parametrize(
    "line",
    [
        "return text.items()",
        "return -self.name",
        "return found.update(text)",
        "return text < 3",
        "return text == text",
        "text",
        "return g(text, text)",
        "return self.other",
        "later.append(text); later = []",
    ],
)
def test_what_cannot_work_or_says_nothing_is_seen(line):
    tree = ast.parse(f"def f(self, text, found):\n    {line}").body[0]
    assert absurd(tree, KINDS).total() == 1


@pytest.mark.parametrize("line", ["return text.upper()", "return -self.limit", "found.update(text)", "return self.g()"])
def test_what_may_work_is_let_be(line):
    assert not absurd(ast.parse(f"def f(self, text, found):\n    {line}").body[0], KINDS)


def test_idle_names_are_those_that_nothing_reads():
    assert idle(ast.parse("def f(a, b):\n    for c in a:\n        d = 1\n    return d")) == {"b", "c"}


def function(body: str) -> Function:
    return Function("m.py", "f", 1, tuple(f"def f(a, day=None):\n{body}".split("\n")))


def cured(before: str, after: str, crash: Crash) -> float:
    return without_cure(crash, function(before), function(after).tree)


def test_a_repair_must_change_what_raised_what_fed_it_or_the_way_there():
    crash = Crash("m.py", 3, "AttributeError", "'NoneType' object has no attribute 'b'")
    before = "    c = g(a)\n    x = c.b\n    return x"
    assert cured(before, "    c = g(a)\n    x = a.b\n    return x", crash) == 0
    assert cured(before, "    c = g(a)\n    if c is None:\n        return 0\n    x = c.b\n    return x", crash) == 0
    assert 0 < cured(before, "    c = h(a)\n    x = c.b\n    return x", crash) < NO_EFFECT
    assert cured(before, "    c = g(a)\n    x = c.b\n    return -x", crash) == NO_EFFECT


def test_another_order_does_not_cure_values_that_have_none():
    crash = Crash("m.py", 2, "TypeError", "'<=' not supported between instances of 'int' and 'NoneType'")
    assert cured("    return a <= day", "    return a < day", crash) == NO_EFFECT
    assert cured("    if a <= day:\n        return 1", "    if day is None or a <= day:\n        return 1", crash) == 0


def test_a_name_that_was_never_set_needs_a_value():
    crash = Crash("m.py", 3, "UnboundLocalError", "cannot access local variable 'c'")
    before = "    for b in a:\n        if not c:\n            c = 1"
    assert cured(before, f"    c = 0\n{before}", crash) == 0
    assert cured(before, before.replace("if not c", "if c"), crash) == pytest.approx(1.5)


def test_a_raise_that_did_its_duty_blames_what_led_there():
    wrong = function("    b = g(a)\n    if b > 3:\n        raise ValueError(b)\n    return b")
    crash = Crash("m.py", 4, "ValueError", "7")
    found = blamed(wrong, [crash], set())
    assert found[4] < 0 < found[2] < found[3]
    assert blamed(wrong, [crash], {"KeyError"})[4] == 0, "unless the test wants another exception"
