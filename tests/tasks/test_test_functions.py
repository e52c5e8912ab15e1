"""Cutting test functions out of a file: everything else keeps its bytes, and what is left is a valid test file."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.errors import TaskError
from redtogreen.tasks.test_functions import cut_functions, cuttable_units, file_of, unit_of

SOURCE = b'''"""Doc."""
import pytest


@pytest.mark.parametrize(
    "a", [1, 2]
)
def test_one(a):
    assert a


# a note
class TestBox:
    @pytest.fixture
    def box(self):
        return 1

    def test_two(self, box):
        def helper():
            return box
        assert helper()

    async def test_three(self): pass


class TestOnly:
    def test_alone(self):
        assert True


if True:
    def test_inside():
        assert 1

def test_used():
    assert 2

def test_user():
    test_used()

class Base:
    def test_inherited(self): pass

class TestChild(Base):
    pass
'''


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/t.py::test_a", "tests/t.py::test_a"),
        ("tests/t.py::TestB::test_c[x::y[1]]", "tests/t.py::TestB::test_c"),
        ("tests/t[1].py::test_a[ü | ö]", "tests/t[1].py::test_a"),
        ("tests/t.py", "tests/t.py"),
    ],
)
def test_unit_of_drops_parameters_only(test, unit):
    assert unit_of(test) == unit
    assert file_of(test) == unit.split("::")[0]


def test_cuttable_leaves_out_functions_others_depend_on():
    assert cuttable_units("t.py", SOURCE) == {
        "t.py::test_one",
        "t.py::TestBox::test_two",
        "t.py::TestBox::test_three",
        "t.py::TestOnly::test_alone",
        "t.py::test_inside",
        "t.py::test_user",
    }


def test_cut_leaves_no_hole_at_the_end_of_a_file():
    """Blank lines where a test stood would tell an agent what was cut."""
    rest = cut_functions("t.py", b"def test_a():\n    pass\n\n\ndef test_b():\n    pass\n", {"t.py::test_b"})
    assert rest == b"def test_a():\n    pass\n"


def test_cut_takes_decorators_and_the_gap_along_and_keeps_every_other_byte():
    rest = cut_functions("t.py", SOURCE, {"t.py::test_one"})
    start, end = SOURCE.index(b"@pytest.mark"), SOURCE.index(b"\n\n# a note")
    assert rest == SOURCE[:start] + SOURCE[end:].lstrip(b"\n")


def test_cut_leaves_pass_in_an_emptied_class_and_block():
    rest = cut_functions("t.py", SOURCE, {"t.py::TestOnly::test_alone", "t.py::test_inside"})
    assert b"class TestOnly:\n    pass\n" in rest
    assert b"if True:\n    pass\n" in rest
    ast.parse(rest)


def test_cut_drops_a_file_without_tests_left():
    assert cut_functions("t.py", b"import os\n\ndef helper(): pass\n\ndef test_a(): pass\n", {"t.py::test_a"}) is None


def test_cut_keeps_windows_line_ends_and_encodings():
    source = "# coding: latin-1\r\ndef test_a():\r\n    assert 'ä'\r\n\r\n"
    source += "class TestB:\r\n    def test_c(self):\r\n        pass\r\n"
    rest = cut_functions("t.py", source.encode("latin-1"), {"t.py::TestB::test_c"})
    assert rest == source.encode("latin-1").replace(b"    def test_c(self):\r\n        pass\r\n", b"    pass\r\n")


def test_cut_refuses_what_is_not_there():
    with pytest.raises(TaskError, match="does not define test_missing"):
        cut_functions("t.py", SOURCE, {"t.py::test_missing"})


def test_a_file_that_does_not_parse_is_named_with_its_line():
    with pytest.raises(TaskError, match=r"t\.py, line 2"):
        cuttable_units("t.py", b"x = 1\ndef broken(:\n")


UNITS = sorted(cuttable_units("t.py", SOURCE))


@given(st.sets(st.sampled_from(UNITS)))
def test_any_cut_parses_and_removes_exactly_the_units(units):
    """Whatever is cut, the rest parses, holds the other functions, and is made of lines of the original."""
    rest = cut_functions("t.py", SOURCE, units)
    assert rest is not None
    left = {node.name for node in ast.walk(ast.parse(rest)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    before = {
        node.name for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    gone = {unit.split("::")[-1] for unit in units}
    assert before - left - {"helper"} == gone
    assert set(rest.splitlines()) <= {*SOURCE.splitlines(), b"    pass"}
