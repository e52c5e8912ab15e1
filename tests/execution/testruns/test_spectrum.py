"""Which tests executed which lines."""

from __future__ import annotations

SOURCE = """\
LIMIT = 10


def clip(value):
    if value > LIMIT:
        value = LIMIT
    return value


class Box:
    size = 3

    def area(self):
        return self.size * self.size


def unused():
    return 1
"""
TESTS = """\
import pytest

from sample import Box, clip


@pytest.mark.parametrize("value", [1, 2])
def test_small(value):
    for _ in range(3):
        assert clip(value) == value


def test_large():
    assert clip(99) == 99


def test_box():
    assert Box().area() == 9


def test_skipped():
    clip(50)
    pytest.skip()
"""


def test_lines_count_the_failing_and_passing_tests_that_ran_them(run):
    files = {
        "src/sample/__init__.py": SOURCE,
        "tests/test_clip.py": TESTS,
        "tests/helpers.py": "def f():\n    return 1\n",
    }
    result = run(files, coverage=True)
    assert result.complete
    assert result.spectrum == {
        "src/sample/__init__.py": {5: (1, 2), 6: (1, 0), 7: (1, 2), 14: (0, 1)},
    }


def test_selected_tests_only(run):
    result = run(
        {"src/sample/__init__.py": SOURCE, "tests/test_clip.py": TESTS},
        ["tests/test_clip.py::test_large"],
        coverage=True,
    )
    assert result.spectrum == {"src/sample/__init__.py": {5: (1, 0), 6: (1, 0), 7: (1, 0)}}


def test_lines_run_by_a_fixture_belong_to_its_test(run):
    tests = """
    import pytest
    from sample import clip

    @pytest.fixture
    def clipped():
        return clip(3)

    def test_it(clipped): assert clipped == 3
    """
    result = run({"src/sample/__init__.py": SOURCE, "test_it.py": tests}, coverage=True)
    assert result.spectrum["src/sample/__init__.py"] == {5: (0, 1), 7: (0, 1)}


def test_without_coverage_there_is_none_and_results_are_the_same(run):
    files = {"src/sample/__init__.py": SOURCE, "tests/test_clip.py": TESTS}
    plain, measured = run(files), run(files, coverage=True)
    assert plain.spectrum is None
    assert {test: result.status for test, result in plain.tests.items()} == {
        test: result.status for test, result in measured.tests.items()
    }
