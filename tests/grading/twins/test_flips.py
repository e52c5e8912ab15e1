"""Twins in the text of a test: the right thing is changed, the rest stays, what is not understood is left."""

from __future__ import annotations

import ast
import random
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.grading.twins.composing import TestFile, compose
from redtogreen.grading.twins.flips import find_functions
from redtogreen.grading.twins.values import OTHER_SOURCE, other_literal


def flipped(body: str, before: str = "") -> dict[str, str]:
    """Kind of each flip -> the test after it."""
    content = textwrap.dedent(before).encode() + b"def test_it(x=1, expected=2):\n"
    content += textwrap.indent(textwrap.dedent(body), "    ").encode()
    (function,) = find_functions(content)
    shown = {}
    for flip in reversed(function.flips):
        text = content
        for start, end, new in sorted(flip.edits, reverse=True):
            text = text[:start] + new + text[end:]
        ast.parse(text)
        shown[flip.kind] = text.decode()
    return shown


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        ("assert f(2) == 4", "constant", "assert f(2) == 5"),
        ("assert 4 == f(2)", "constant", "assert 5 == f(2)"),
        ("assert f(2) == [1, {'a': (2, 'bc')}]", "constant", "[1, {'a': (2, 'bd')}]"),
        ("assert f(2) == list('abc')", "constant", "list('abd')"),
        ("assert f(2) == []", "constant", "== [0]"),
        ("assert f(2) == {}", "constant", "== {0: 0}"),
        ("assert f(2) == -1.5", "constant", "== -3.25"),
        ("assert f(2) is True", "constant", "is False"),
        ("assert f(2) == pytest.approx(0.5)", "constant", "approx(1.75)"),
        ("want = [1, 2]\nassert f(2) == want", "constant", "want = [1, 3]"),
        ("assert f(2) == '+'.join(['a', 'b'])", "constant", "'+'.join(['a', 'c'])"),
        ("D = kind()\nassert f(D({1: 2})) == D({1: 3})", "constant", "== D({1: 4})"),
        ("self.assertEqual(f(2), 'x')", "constant", "assertEqual(f(2), 'y')"),
        ("self.assertEqual('x', f(2))", "constant", "assertEqual('y', f(2))"),
        ("with pytest.raises(ValueError):\n    f(2)", "raises", "raises(StopAsyncIteration)"),
        ("with self.assertRaises((KeyError, ValueError)) as caught:\n    f(2)", "raises", "(StopAsyncIteration)"),
        ("pytest.raises(ValueError, f, 2)", "raises", "raises(StopAsyncIteration, f, 2)"),
        ("assert f(2) == g(3)", "computed", "== redtogreen_other(g(3))"),
        ("assert x in f(2)", "negation", "assert not (x in f(2))"),
        ("assert f(2) > 3", "negation", "assert not (f(2) > 3)"),
        ("self.assertIn(3, f(2))", "negation", "self.assertNotIn(3, f(2))"),
    ],
)
def test_the_expected_side_becomes_another(body, kind, part):
    assert part in flipped(body)[kind]


def test_what_an_honest_solution_could_survive_is_not_offered():
    """A bound that is moved, or an argument of the code under test, may be met by a solution that is right too."""
    assert set(flipped("assert len(f(2)) >= 3")) == {"negation"}
    assert "constant" not in flipped("assert f(2) == f(3)")
    assert "constant" not in flipped("g = make()\nassert f(2) == g(3)")
    assert "constant" not in flipped("data = [3, 1]\nassert sorted(data) == f(data)")


def test_every_row_of_a_parametrisation_is_changed():
    before = "@pytest.mark.parametrize('x, expected', [(1, 2), pytest.param(3, 'a', id='z')])\n"
    text = flipped("assert f(x) == expected", before)["parametrisation"]
    assert "[(1, 3), pytest.param(3, 'b', id='z')]" in text
    assert "parametrisation" not in flipped("assert f(x) == expected", before.replace("'a'", "HERE"))


def test_property_based_tests_and_odd_files_are_left_alone():
    assert find_functions(b"@pytest.fixture(params=[1])\ndef test_url(request):\n    assert 1 == 1\n") == []
    before = "@given(x=integers())\n"
    assert flipped("assert f(x) == 1", before) == {}
    assert find_functions(b"def test_a():\r\n    assert 1 == 1\r\n") == []
    with pytest.raises(SyntaxError):
        find_functions(b"def test_a(:\n")


SOURCE = textwrap.dedent(
    """
    import unittest

    class Base:
        def test_shared(self):
            assert self.make() == "ä1"  # a comment

    class TestSub(Base, unittest.TestCase):
        @decorated(
            "two lines",
        )
        async def test_own(self):
            self.assertEqual(f(1), 2)

    def test_twice(): assert f(1) == 1
    def test_twice(): assert f(1) == 1

    def test_last():
        assert f(1) == 3
    """
).encode()


def test_a_composed_file_holds_every_test_under_a_new_name_beside_its_twins():
    file = TestFile(SOURCE)
    assert file.locate("TestSub::test_shared") == "Base::test_shared"
    assert file.locate("test_twice") is None and file.locate("test_last[a-1]") == "test_last"
    chosen = {key: range(len(function.flips)) for key, function in file.functions.items()}
    made = compose(file, chosen, random.Random(1))
    tree = ast.parse(made.content)
    names = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert len(names) == len(set(names)) + 1  # test_twice is left as it was
    assert "test_last" not in names and made.names["test_last"] in names
    assert set(made.twins["TestSub::test_own"].values()) <= set(names)
    assert (
        made.renamed("TestSub::test_shared[x]", "Base::test_shared") == f"TestSub::{made.names['Base::test_shared']}[x]"
    )
    assert made.content.count("ä1".encode()) + made.content.count("ä2".encode()) == 1 + len(
        made.twins["Base::test_shared"]
    )
    kept = compose(file, chosen, random.Random(1), rename=False)
    assert kept.names == {} and b"def test_last" in kept.content


def test_names_and_order_are_new_every_time():
    file = TestFile(SOURCE)
    chosen = {"test_last": [0]}
    made = [compose(file, chosen, random.Random(number)) for number in range(20)]
    assert len({one.names["test_last"] for one in made}) == 20
    before = {
        one.content.find(one.names["test_last"].encode()) < one.content.find(one.twins["test_last"][0].encode())
        for one in made
    }
    assert before == {True, False}


plain = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.binary()
)


@given(plain)
def test_another_literal_is_never_equal_and_of_the_same_type(value):
    literal = other_literal(value)
    if literal is None:
        assert isinstance(value, float) and abs(value) >= 1e300
    else:
        other = ast.literal_eval(literal)
        assert other != value and type(other) is type(value)


@given(st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner)))
def test_a_computed_other_value_is_never_equal(value):
    space: dict = {}
    exec(OTHER_SOURCE.format(name="other"), space)
    assert space["other"](value) != value


@pytest.mark.parametrize("value", [-1, -1.0, float("inf"), float("-inf"), complex(-1), 10**30])
def test_a_computed_other_value_is_never_equal_at_fixed_points(value):
    space: dict = {}
    exec(OTHER_SOURCE.format(name="other"), space)
    assert space["other"](value) != value
    assert type(space["other"](value)) is type(value)


@pytest.mark.parametrize("expected", ["n * 2", "n % 2", "n // 10", "2 ** n", "[n, n * 2]", "'ab' * n"])
def test_a_constant_that_may_not_matter_for_some_value_of_a_name_is_not_flipped(expected):
    (function,) = find_functions(f"def test_one():\n    n = given()\n    assert f(n) == {expected}\n".encode())
    assert {flip.kind for flip in function.flips} == {"computed", "negation"}


@pytest.mark.parametrize(("original_at", "place"), [(0, 0), (-1, -1)])
def test_the_original_is_put_where_it_is_wanted(original_at, place):
    file = TestFile(b"def test_one():\n    assert f() == 3\n")
    flips = list(range(len(file.functions["test_one"].flips)))
    made = compose(file, {"test_one": flips}, random.Random(0), original_at=original_at)
    names = [one.name for one in ast.parse(made.content).body if one.name.startswith("test_")]
    assert len(names) == len(flips) + 1
    assert names[place] == made.names["test_one"]
