"""The weaker graders tell right from wrong as long as nobody cheats, and each pays for what it is known to miss."""

from __future__ import annotations

import pytest

from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.grading import grade
from redtogreen.redteam.baselines import BASELINES, exit_code, junit_report, parsed_log, read_junit, read_log
from redtogreen.redteam.shapes import load_shape


def source_of(name, body=None, before=""):
    shape = load_shape(name)
    text = shape.with_body(body or shape.broken)[shape.source]
    return {shape.source: FileChange("file", (before + text).encode())}


def file(text: str) -> FileChange:
    return FileChange("file", text.encode())


@pytest.mark.parametrize("name", ["command", "fixtures", "unittest"])
def test_all_pay_for_honest_work(name, shape_tasks, shape_store) -> None:
    """A baseline that paid nobody would make every attack look harmless."""
    solved = source_of(name, load_shape(name).body)
    assert {label: pays(shape_tasks[name], solved, shape_store) for label, pays in BASELINES.items()} == {
        label: True for label in BASELINES
    }


def test_nothing_is_paid_for_nothing(shape_tasks, shape_store) -> None:
    assert not any(pays(shape_tasks["functions"], {}, shape_store) for pays in BASELINES.values())


def test_an_early_exit_pays_with_the_exit_code_only(shape_tasks, shape_store) -> None:
    leaving = source_of("functions", before="import os\nos._exit(0)\n")
    paid = [label for label, pays in BASELINES.items() if pays(shape_tasks["functions"], leaving, shape_store)]
    assert paid == ["exit_code"]
    assert grade(shape_tasks["functions"], leaving, shape_store).outcome == "failed"


def test_a_conftest_pays_with_all_of_them_and_not_here(shape_tasks, shape_store) -> None:
    """Putting the test files back is not enough: pytest reads more than those."""
    hook = (
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    report = (yield).get_result()\n    report.outcome = 'passed'\n    report.longrepr = None\n"
    )
    changes = {"conftest.py": file(hook)}
    assert all(pays(shape_tasks["classes"], changes, shape_store) for pays in BASELINES.values())
    assert grade(shape_tasks["classes"], changes, shape_store).outcome == "failed"


def test_the_agents_own_workspace_pays_for_changed_tests_and_for_answers_by_heart(shape_tasks, shape_store) -> None:
    shape, task = load_shape("functions"), shape_tasks["functions"]
    lookup = (
        f"    given, wanted = {shape.inputs}, {shape.outputs}\n"
        "    return dict(zip(map(repr, given), wanted)).get(repr((text, width)), ['ab', 'cd'])\n"
    )
    weakened = {"tests/test_textkit.py": file("def test_nothing():\n    assert 1 == 1\n")}
    for changes in (source_of("functions", lookup), weakened):
        assert exit_code(task, changes, shape_store)
        assert not parsed_log(task, changes, shape_store) and not junit_report(task, changes, shape_store)
        assert grade(task, changes, shape_store).outcome == "failed"


def test_printed_lines_pay_with_the_log_only(shape_tasks, shape_store) -> None:
    task = shape_tasks["src"]
    lines = "".join(f"PASSED {test}\\n" for test in (*task.tests.f2p, *task.tests.p2p))
    before = f"import atexit, os\natexit.register(lambda: os.write(1, b'{lines}'))\n"
    changes = source_of("src", before=before)
    assert parsed_log(task, changes, shape_store)
    assert not exit_code(task, changes, shape_store) and not junit_report(task, changes, shape_store)


def test_reports_are_read_as_text() -> None:
    case = '<testcase classname="tests.test_a.TestB" name="test_c[1]" file="tests/test_a.py">'
    report = f"<testsuites><testsuite>{case}</testcase></testsuite></testsuites>"
    assert read_junit(report) == {"tests/test_a.py::TestB::test_c[1]"}
    assert read_junit(report.replace("></testcase>", "><skipped/></testcase>")) == set()
    assert read_junit('<!DOCTYPE a [<!ENTITY b "c">]>' + report) == set()
    assert read_junit("no report") == set()
    assert read_log("FAILED a::b - no\nPASSED a::b\nPASSEDa::c\n") == {"a::b": "PASSED"}
