"""Which test is what: reward and evaluation tests never mix, and the rule's counts hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.tasks.admission.splits import split_tests
from redtogreen.tasks.test_functions import unit_of


def ids(prefix: str, functions: int, parameters: int = 2) -> list[str]:
    return [f"t.py::test_{prefix}{f}[{p}]" for f in range(functions) for p in range(parameters)]


@given(st.integers(1, 30), st.integers(0, 60), st.integers(1, 3))
def test_the_rule(broken, intact, parameters):
    """A third of the F2P functions, at least one of two, one in ten P2P functions; none with a single F2P function."""
    f2p, p2p = ids("f", broken, parameters), ids("p", intact, parameters)
    split = split_tests(f2p, p2p, {unit_of(test) for test in (*f2p, *p2p)})
    tests = split.tests
    held_f2p = {unit_of(test) for test in tests.evaluation if test in f2p}
    held_p2p = {unit_of(test) for test in tests.evaluation if test in p2p}
    assert len(held_f2p) == (max(1, broken // 3) if broken >= 2 else 0)
    assert len(held_p2p) == (intact // 10 if broken >= 2 else 0)
    assert sorted([*tests.f2p, *tests.p2p, *tests.evaluation]) == sorted([*f2p, *p2p])
    assert tests.visible == [*tests.f2p, *tests.p2p]
    assert not {unit_of(test) for test in tests.visible} & {unit_of(test) for test in tests.evaluation}
    assert split.cut == {unit_of(test) for test in tests.evaluation}
    assert tests.f2p


def test_parameters_of_one_function_stay_together_even_when_only_some_fail():
    split = split_tests(["t.py::test_a[1]", "t.py::test_b"], ["t.py::test_a[2]"], {"t.py::test_a"})
    assert split.tests.evaluation == ["t.py::test_a[1]", "t.py::test_a[2]"]
    assert split.tests.f2p == ["t.py::test_b"] and split.tests.p2p == []


def test_without_a_failing_function_that_can_be_cut_there_is_no_evaluation():
    split = split_tests(ids("f", 4), ids("p", 40), {unit_of(test) for test in ids("p", 40)})
    assert split.tests.evaluation == [] and split.cut == frozenset()


def test_the_same_functions_are_held_back_in_every_task_of_a_project():
    """Otherwise one task's workspace would show another task's evaluation tests."""
    p2p = ids("p", 40)
    every = {unit_of(test) for test in (*ids("f", 6), *p2p)}
    one = split_tests(ids("f", 6), p2p, every)
    other = split_tests(ids("f", 3), p2p, every)
    p2p_units = {unit_of(test) for test in p2p}
    assert one.cut & p2p_units == other.cut & p2p_units != set()
