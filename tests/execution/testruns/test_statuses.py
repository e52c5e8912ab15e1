"""One typed result per test id."""

from __future__ import annotations

SUITE = """
    import unittest
    import pytest

    def helper(value):
        raise KeyError(value)

    @pytest.fixture
    def broken():
        raise RuntimeError("no fixture")

    @pytest.fixture
    def leaky():
        yield 1
        raise OSError("not closed")

    def test_passed(): pass
    def test_failed(): assert [1, 2] == [1, 3]
    def test_raises(): helper("deep")
    def test_setup(broken): pass
    def test_teardown(leaky): pass
    def test_failed_and_teardown(leaky): assert False
    def test_skipped(): pytest.skip("not today")
    @pytest.mark.skip(reason="never")
    def test_marked(): pass
    @pytest.mark.xfail(reason="known")
    def test_xfailed(): assert False
    @pytest.mark.xfail
    def test_xpassed(): pass
    @pytest.mark.xfail(strict=True)
    def test_strict(): pass
    def test_subtests(subtests):
        for number in range(3):
            with subtests.test(number=number):
                assert number != 1
    def test_good_subtests(subtests):
        with subtests.test("one"):
            pass
        with subtests.test("two"):
            pytest.skip("a part of it")
    def test_unprintable():
        class Odd(Exception):
            def __str__(self):
                raise ValueError("no text")
        raise Odd()

    class Old(unittest.TestCase):
        def test_fine(self):
            with self.subTest(a=1):
                pass
        def test_parts(self):
            for number in range(3):
                with self.subTest(number=number):
                    self.assertNotEqual(number, 1)
        @unittest.expectedFailure
        def test_expected(self):
            self.fail()
        @unittest.expectedFailure
        def test_unexpected(self):
            pass
        @unittest.skip("old")
        def test_skip(self):
            pass
"""


def test_every_kind_of_ending_has_its_status(run):
    result = run({"test_all.py": SUITE})
    found = {test.removeprefix("test_all.py::"): outcome.status for test, outcome in result.tests.items()}
    assert found == {
        "test_passed": "passed",
        "test_failed": "failed",
        "test_raises": "failed",
        "test_setup": "error",
        "test_teardown": "error",
        "test_failed_and_teardown": "failed",
        "test_skipped": "skipped",
        "test_marked": "skipped",
        "test_xfailed": "xfailed",
        "test_xpassed": "xpassed",
        "test_strict": "failed",
        "test_subtests": "failed",
        "test_good_subtests": "passed",
        "test_unprintable": "failed",
        "Old::test_fine": "passed",
        "Old::test_parts": "failed",
        "Old::test_expected": "xfailed",
        "Old::test_unexpected": "failed",
        "Old::test_skip": "skipped",
    }
    assert result.complete
    assert result.exit_status == 1
    assert result.failure_stage == "assertion"
    assert result.status("test_all.py::test_nowhere") == "absent"

    failed, raises = result.tests["test_all.py::test_failed"], result.tests["test_all.py::test_raises"]
    assert failed.exception == "AssertionError"
    assert "[1, 2] == [1, 3]" in failed.message
    assert "E   " in failed.traceback
    assert raises.exception == "KeyError"
    assert raises.message == "'deep'"
    assert [(frame.path, frame.function) for frame in raises.frames] == [
        ("test_all.py", "test_raises"),
        ("test_all.py", "helper"),
    ]
    assert raises.frames[-1].line == 6
    assert result.tests["test_all.py::test_setup"].stage == "setup"
    assert result.tests["test_all.py::test_teardown"].stage == "teardown"
    assert result.tests["test_all.py::test_teardown"].exception == "OSError"
    assert result.tests["test_all.py::test_skipped"].message == "Skipped: not today"
    assert "raised ValueError" in result.tests["test_all.py::test_unprintable"].message
    assert result.exceptions == ["AssertionError", "Failed", "KeyError", "OSError", "Odd", "RuntimeError"]


def test_a_green_suite_is_a_pass(run):
    result = run({"src/sample/__init__.py": "X = 1\n", "test_x.py": "import sample\ndef test_x(): assert sample.X\n"})
    assert (result.failure_stage, result.exit_status, result.complete) == ("pass", 0, True)
    assert result.exceptions == []


def test_a_failure_inside_the_package_names_the_frame_there(run):
    files = {
        "src/sample/__init__.py": "def half(number):\n    return number / 0\n",
        "tests/test_half.py": "from sample import half\n\ndef test_half():\n    assert half(2) == 1\n",
    }
    result = run(files).tests["tests/test_half.py::test_half"]
    assert result.exception == "ZeroDivisionError"
    assert result.frames[-1] == ("src/sample/__init__.py", 2, "half")


def test_files_that_cannot_be_collected_do_not_hide_the_others(run):
    files = {
        "test_syntax.py": "def test_a(:\n",
        "test_import.py": "import no_such_module_anywhere\n",
        "test_raise.py": "raise LookupError('at import')\n",
        "test_good.py": "def test_good(): pass\n",
    }
    result = run(files)
    assert {test: outcome.status for test, outcome in result.tests.items()} == {"test_good.py::test_good": "passed"}
    found = {error.path: error.exception for error in result.collection_errors}
    assert found == {
        "test_syntax.py": "SyntaxError",
        "test_import.py": "ModuleNotFoundError",
        "test_raise.py": "LookupError",
    }
    assert result.failure_stage == "syntax"
    assert (
        "no_such_module_anywhere" in {error.path: error.message for error in result.collection_errors}["test_import.py"]
    )


def test_stages_are_told_apart(run):
    good = "def test_good(): pass\n"
    assert run({"test_a.py": "import nope_nope\n", "test_b.py": good}).failure_stage == "import"
    assert run({"test_a.py": "1 / 0\n", "test_b.py": good}).failure_stage == "collection"


def test_a_broken_conftest_is_a_collection_error(run):
    result = run({"conftest.py": "import nope_nope\n", "test_a.py": "def test_a(): pass\n"})
    assert [(error.path, error.exception) for error in result.collection_errors] == [
        ("conftest.py", "ModuleNotFoundError")
    ]
    assert result.tests == {}
    assert result.failure_stage == "import"
    deeper = run({"conftest.py": "", "sub/conftest.py": "1 / 0\n", "sub/test_a.py": "def test_a(): pass\n"})
    assert [(error.path, error.exception) for error in deeper.collection_errors] == [
        ("sub/conftest.py", "ZeroDivisionError")
    ]


def test_many_large_failures_stay_within_the_report(run):
    suite = """
    import pytest

    @pytest.mark.parametrize("number", range(1500))
    def test_large(number):
        raise ValueError("x" * 100_000)
    """
    result = run({"test_large.py": suite}, seconds=120)
    assert result.complete
    assert len(result.tests) == 1500
    assert {outcome.exception for outcome in result.tests.values()} == {"ValueError"}
    assert max(len(outcome.message) for outcome in result.tests.values()) <= 2000
    assert len(result.process.report) < 16 * 2**20
