"""Exactly the asked ids run, in the asked order, under the asked hash seed."""

from __future__ import annotations

import pytest

from redtogreen.execution.testruns import collect_tests, run_tests

ODD = """
    import pytest

    @pytest.mark.parametrize("text", ["a b", "a|b", "a::b", "[x]", "ü", "100%", "a/b", "-k x", "'q'"])
    def test_odd(text):
        pass

    def test_plain():
        pass
"""


def test_odd_ids_can_be_selected_one_by_one(opened):
    with opened({"tests/test_odd.py": ODD, "tests/test_other.py": "def test_other(): pass\n"}) as sandbox:
        everything = list(run_tests(sandbox).tests)
        assert len(everything) == 11
        for test in everything:
            result = run_tests(sandbox, [test])
            assert list(result.tests) == [test]
            assert result.complete
        some = [everything[0], everything[4], "tests/test_other.py::test_other"]
        assert set(run_tests(sandbox, some).tests) == set(some)


def test_unknown_ids_and_files_are_absent_and_the_others_run(run):
    result = run(
        {"test_a.py": "def test_a(): pass\n"},
        ["test_a.py::test_a", "test_a.py::test_gone", "no/such/file.py::test_x", "../test_a.py::test_a", "-x", ""],
    )
    assert list(result.tests) == ["test_a.py::test_a"]
    assert result.complete
    assert result.status("no/such/file.py::test_x") == "absent"


def test_nothing_asked_runs_nothing(run):
    result = run({"test_a.py": "def test_a(): pass\n"}, [])
    assert result.tests == {}
    assert result.complete


def test_a_file_with_brackets_in_its_name_can_be_selected(run):
    result = run(
        {"test_[odd].py": "def test_a(): pass\n", "test_b.py": "def test_b(): pass\n"}, ["test_[odd].py::test_a"]
    )
    assert {test: outcome.status for test, outcome in result.tests.items()} == {"test_[odd].py::test_a": "passed"}


def test_a_selected_run_reads_the_same_configuration_as_a_full_one(opened):
    """pytest alone would take tests/pytest.ini for a run of tests/test_a.py, and the root's for a full one."""
    files = {
        "pytest.ini": "[pytest]\nxfail_strict = true\n",
        "tests/pytest.ini": "[pytest]\nxfail_strict = false\n",
        "tests/test_a.py": "import pytest\n@pytest.mark.xfail\ndef test_a(): pass\n",
    }
    with opened(files) as sandbox:
        assert run_tests(sandbox).status("tests/test_a.py::test_a") == "failed"
        assert run_tests(sandbox, ["tests/test_a.py::test_a"]).status("tests/test_a.py::test_a") == "failed"


@pytest.mark.parametrize("reverse", [False, True])
def test_reversed_order(opened, reverse):
    suite = "def test_{0}1(): log('{0}1')\ndef test_{0}2(): log('{0}2')\n"
    suite += "def log(name):\n    with open('/work/log', 'a') as file:\n        file.write(name + ' ')\n"
    with opened({"test_a.py": suite.format("a"), "test_b.py": suite.format("b")}) as sandbox:
        assert run_tests(sandbox, reverse=reverse).complete
        order = sandbox.changes()["log"].content.decode().split()
    assert order == (["b2", "b1", "a2", "a1"] if reverse else ["a1", "a2", "b1", "b2"])


def test_the_hash_seed_decides_the_order_of_sets(opened):
    suite = "def test_a():\n    open('/work/log', 'a').write(' '.join({str(n) for n in range(50)}) + '\\n')\n"
    with opened({"test_a.py": suite}) as sandbox:
        for seed in (0, 0, 5):
            run_tests(sandbox, hash_seed=seed)
        first, again, other = sandbox.changes()["log"].content.decode().splitlines()
    assert first == again != other


def test_collecting_lists_ids_without_running(opened):
    files = {"test_a.py": "def test_a():\n    open('/work/ran', 'w')\n", "test_b.py": "import nope_nope\n"}
    with opened(files) as sandbox:
        collection = collect_tests(sandbox)
        assert collection.tests == ["test_a.py::test_a"]
        assert [error.path for error in collection.errors] == ["test_b.py"]
        assert "ran" not in sandbox.changes()


def test_options_of_plugins_that_are_left_out_do_no_harm(run):
    """The commonest reason why suites of others do not start: addopts that name pytest-cov or pytest-xdist."""
    files = {
        "setup.cfg": "[tool:pytest]\naddopts = --cov=sample --cov-report term-missing --no-cov-on-fail -n 4 -x\n",
        "test_a.py": "import pytest\n@pytest.mark.no_cover\ndef test_a(): assert False\ndef test_b(): pass\n",
    }
    result = run(files)
    assert {test: outcome.status for test, outcome in result.tests.items()} == {
        "test_a.py::test_a": "failed",
        "test_a.py::test_b": "passed",
    }
    assert result.complete


def test_files_of_the_project_do_not_shadow_the_runner_or_the_standard_library(run):
    evil = "raise SystemExit('shadowed')\n"
    names = (
        "pytest",
        "_pytest",
        "pluggy",
        "json",
        "coverage",
        "difflib",
        "pytest_report",
        "sitecustomize",
        "usercustomize",
    )
    result = run({**{f"{name}.py": evil for name in names}, "test_a.py": "def test_a(): assert 1\n"}, coverage=True)
    assert {test: outcome.status for test, outcome in result.tests.items()} == {"test_a.py::test_a": "passed"}, (
        result.process.stderr.text
    )
    assert result.complete, result.process.stderr.text
