"""A warm run comes out as a cold one, and whatever could make it different sends it back to a cold start."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace

import pytest

from redtogreen.execution.sandboxes import FileChange
from redtogreen.execution.testruns import run_tests, warm

PROJECT = {
    "src/sample/__init__.py": "def half(x):\n    if x < 0:\n        raise ValueError('negative')\n    return x // 2\n",
    "conftest.py": "import pytest\n\n@pytest.fixture\ndef four():\n    return 4\n",
    "test_half.py": textwrap.dedent("""
        import decimal, random, sys, unittest
        import pytest
        import sample

        def test_passes(four):
            assert sample.half(four) == 2

        def test_fails(four):
            assert sample.half(four) == [1, 2], "told"

        @pytest.mark.parametrize("x", [-1, decimal.Decimal(-2)])
        def test_raises(x):
            with pytest.raises(ValueError):
                sample.half(x)

        @pytest.mark.xfail
        def test_expected():
            assert False

        @pytest.mark.skip(reason="not now")
        def test_skipped():
            pass

        def test_crashes():
            sample.half("x")

        def test_order_is_that_of_the_seed():
            assert list({"a", "b", "c", "d"}) == []

        class TestOld(unittest.TestCase):
            def test_sub(self):
                for i in range(2):
                    with self.subTest(i=i):
                        self.assertEqual(i, 0)
    """),
}


@pytest.fixture(scope="module")
def environment(environment_for):
    """One of their own: what an environment keeps loaded is that of the first project seen in it."""
    return environment_for("sample-kept-warm")


@pytest.fixture
def twice(opened):
    """twice(changes): the run started cold and the run started warm over the same files."""

    def twice_(changes: dict[str, str] | None = None, **options):
        for _ in range(3):  # found out when wanted twice, started when wanted twice
            with opened(PROJECT, changes) as sandbox:
                last = run_tests(sandbox, **options)
            if last.process.warm:
                break
        with opened(PROJECT, changes) as sandbox:
            sandbox.preload = None
            cold = run_tests(sandbox, **options)
        assert last.process.warm and not cold.process.warm
        return cold, last

    return twice_


def _comparable(run):
    return re.sub("0x[0-9a-f]+", "ADDRESS", repr(replace(run, process=None)))


def test_everything_reported_is_the_same(twice):
    cold, warm_ = twice()
    assert _comparable(warm_) == _comparable(cold)
    assert {result.status for result in cold.tests.values()} == {"passed", "failed", "xfailed", "skipped"}
    assert warm_.process.exit_code == cold.process.exit_code


def test_coverage_is_the_same(twice):
    cold, warm_ = twice(coverage=True)
    assert cold.spectrum and warm_.spectrum == cold.spectrum


def test_selection_and_reversal_are_the_same(twice):
    cold, warm_ = twice(tests=["test_half.py::test_passes", "test_half.py::test_fails"], reverse=True)
    assert list(warm_.tests) == list(cold.tests) == ["test_half.py::test_fails", "test_half.py::test_passes"]


@pytest.mark.parametrize(
    "broken",
    [
        {"src/sample/__init__.py": PROJECT["src/sample/__init__.py"].replace("// 2", "// 4")},
        {"src/sample/__init__.py": "def half(x:\n"},
        {"src/sample/__init__.py": "import no_such_thing\n"},
        {"test_half.py": PROJECT["test_half.py"].replace("== 2", "== 3")},
        {"conftest.py": PROJECT["conftest.py"].replace("4", "8")},
    ],
    ids=["code", "syntax", "import", "test", "fixture"],
)
def test_no_edit_is_missed(twice, broken):
    """Kept code is found by the digest of its source: an edit of the same size in the same second counts."""
    twice()
    cold, warm_ = twice(broken)
    assert _comparable(warm_) == _comparable(cold)
    assert cold.status("test_half.py::test_passes") != "passed"


def test_a_module_of_the_workspace_in_the_place_of_a_loaded_one_sends_the_run_back(opened, twice, caplog):
    twice()
    with opened(PROJECT, {"decimal.py": "Decimal = int\n"}) as sandbox:
        run = run_tests(sandbox)
    assert not run.process.warm
    assert "decimal" in caplog.text


def test_a_run_that_breaks_before_its_first_test_is_made_again_cold(opened, twice):
    twice()
    telling = {"conftest.py": "assert 'run_pytest' in open('/proc/self/cmdline').read()\n" + PROJECT["conftest.py"]}
    with opened(PROJECT, telling) as sandbox:
        run = run_tests(sandbox)
    assert not run.process.warm and run.status("test_half.py::test_passes") == "passed"


def test_an_audit_that_fails_ends_the_warmth(opened, twice, caplog, monkeypatch):
    """The tests below can tell a warm start from a cold one, which no honest suite does."""
    twice()
    monkeypatch.setattr(warm, "EVERY", 1)
    monkeypatch.setattr(warm, "_distrusted", set())
    telling = {"test_half.py": "def test_start():\n    assert 'run_pytest' in open('/proc/self/cmdline').read()\n"}
    with opened(PROJECT, telling) as sandbox:
        run = run_tests(sandbox)
        assert not run.process.warm and run.status("test_half.py::test_start") == "passed"
        assert not run_tests(sandbox).process.warm
    assert "cold" in caplog.text


def test_an_audit_does_not_disturb_a_workspace_that_tests_change(opened, twice, monkeypatch):
    twice()
    monkeypatch.setattr(warm, "EVERY", 1)
    counting = {"test_half.py": "def test_count():\n    open('count', 'a').write('x')\n"}
    with opened(PROJECT, counting) as sandbox:
        assert run_tests(sandbox).process.warm
        assert sandbox.changes()["count"] == FileChange("file", b"x")


def test_a_workspace_gets_no_kept_code_of_what_it_does_not_show(opened, twice, tmp_path):
    """What the environment's first project held may be the solution, or a test that is held out."""
    twice()
    looking = {
        "test_half.py": "from importlib.machinery import SourceFileLoader\n\ndef test_look():\n"
        "    cells = SourceFileLoader.source_to_code.__closure__ or ()\n"
        "    looks = [c.cell_contents for c in cells if getattr(c.cell_contents, '__name__', '') == '<lambda>']\n"
        "    known = [x.cell_contents for look in looks for x in look.__closure__ or ()]\n"
        "    paths = sorted({path for one in known for path, _, _ in one})\n"
        "    assert '/work/test_half.py' not in paths and '/work/src/sample/__init__.py' not in paths, paths\n"
        "    assert '/work/conftest.py' in paths, paths\n"
    }
    start = {**PROJECT, **looking, "src/sample/__init__.py": "def half(x):\n    return x\n"}
    for _ in range(3):
        with opened(start) as sandbox:
            run = run_tests(sandbox)
        if run.process.warm:
            break
    assert run.process.warm
    assert run.status("test_half.py::test_look") == "passed", run.tests


def test_kept_code_is_used(opened, twice):
    twice()
    code = "from importlib.machinery import SourceFileLoader\n\ndef test_installed():\n"
    code += "    assert SourceFileLoader.source_to_code.__module__ == 'pytest_codes'\n"
    with opened(PROJECT, {"test_half.py": code}) as sandbox:
        run = run_tests(sandbox)
        assert run.process.warm and run.status("test_half.py::test_installed") == "passed"
