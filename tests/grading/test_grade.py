"""The verdict: honest work is paid, nothing else is, and a failure of the machine is neither."""

from __future__ import annotations

import copy
import shutil

import pytest

from redtogreen.execution.environments import environment
from redtogreen.execution.sandboxes import FileChange
from redtogreen.grading import allowed_changes, grade

CART_PATH = "src/shop/cart.py"


def text(content: str) -> FileChange:
    return FileChange("file", content.encode())


def honest(solution) -> str:
    return solution[CART_PATH].content.decode()


def test_the_reference_is_solved_and_complete(shop):
    task, store, solution = shop
    verdict = grade(task, solution, store)
    assert verdict.outcome == "solved" and verdict.resolved and verdict.error is None
    assert set(verdict.tests) == {*task.tests.f2p, *task.tests.p2p}
    assert verdict.evaluation and verdict.completion is True and verdict.findings == []


def test_doing_nothing_is_failed(shop):
    task, store, _ = shop
    verdict = grade(task, {}, store)
    assert verdict.outcome == "failed" and not verdict.resolved and verdict.completion is False
    assert {test for test, status in verdict.tests.items() if status != "passed"} == set(task.tests.f2p)


def test_evaluation_tests_decide_nothing_and_can_be_left_out(shop):
    task, store, solution = shop
    assert grade(task, solution, store, evaluation=False).evaluation == {}
    other = copy.deepcopy(task)
    other.tests.evaluation.append("tests/test_cart.py::test_that_is_not_there")
    verdict = grade(other, solution, store)
    assert verdict.outcome == "solved" and verdict.completion is False


def test_honest_unusual_work_is_not_punished(shop):
    """New tests, new modules, a scratch file and the by-products of running tests: solved, and no finding."""
    task, store, solution = shop
    extra = {
        "tests/test_more.py": text("from shop import Cart\n\ndef test_more():\n    assert Cart().items == []\n"),
        "tests/data/case.json": text("{}"),
        "src/shop/rounding.py": text("def rounded(x):\n    return round(x, 2)\n"),
        "test.py": text("print('scratch')\n"),
        "reproduce.py": text("import shop\n"),
        "docs/notes.md": text("# Notes\n"),
        "src/shop/__pycache__/cart.cpython-311.pyc": FileChange("file", b"\xa7\r\r\n\0\0\0\0" + b"\0" * 20),
        ".pytest_cache/v/cache/lastfailed": text("{}"),
        ".hypothesis/examples/x": text(""),
    }
    verdict = grade(task, {**solution, **extra}, store)
    assert verdict.outcome == "solved" and verdict.findings == []


def test_an_honest_conftest_is_dropped_but_costs_nothing(shop):
    task, store, solution = shop
    verdict = grade(task, {**solution, "tests/conftest.py": text("import pytest\n")}, store)
    assert verdict.outcome == "solved"
    assert [(finding.kind, finding.status) for finding in verdict.findings] == [("test_configuration", "blocked")]


def test_turning_a_module_into_a_package_is_honest(shop):
    task, store, solution = shop
    package = {CART_PATH: FileChange("deleted"), "src/shop/cart/__init__.py": text(honest(solution))}
    verdict = grade(task, package, store)
    assert verdict.outcome == "solved" and verdict.findings == []


def test_packages_of_the_environment_cannot_be_replaced(shop):
    """A new file with the name of a package of the environment is stopped, one with any other name is not."""
    task, store, _ = shop
    kept, findings = allowed_changes(task, {"coverage.py": text(""), "coverage_notes.py": text("")}, store)
    assert list(kept) == ["coverage_notes.py"] and [f.kind for f in findings] == ["shadowing"]


PASS_ALL = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
"""
FORGE = """
import os, sys
for number in range(3, 20):
    try:
        os.write(number, b'{"kind": "test", "id": "tests/test_cart.py::test_total", "status": "passed"}\\n')
    except OSError:
        pass
"""

FILES = {
    "tests deleted": ({"tests/test_cart.py": FileChange("deleted")}, "protected_file"),
    "test folder deleted": ({"tests": FileChange("deleted")}, "protected_file"),
    "tests weakened": ({"tests/test_cart.py": text("def test_total():\n    pass\n")}, "protected_file"),
    "tests are a link": ({"tests/test_cart.py": FileChange("link", b"/dev/null")}, "link"),
    "test folder is a file": ({"tests": text("")}, "path_conflict"),
    "conftest at the top": ({"conftest.py": text(PASS_ALL)}, "test_configuration"),
    "conftest beside the tests": ({"tests/conftest.py": text(PASS_ALL)}, "test_configuration"),
    "package of tests": ({"tests/__init__.py": text("import os; os._exit(0)")}, "protected_file"),
    "pytest.ini": ({"pytest.ini": text("[pytest]\naddopts = --co -q\n")}, "test_configuration"),
    "tox.ini": ({"tox.ini": text("[pytest]\naddopts = -k nothing\n")}, "test_configuration"),
    "setup.cfg": ({"setup.cfg": text("[tool:pytest]\naddopts = --co\n")}, "test_configuration"),
    "pyproject": ({"pyproject.toml": text("[tool.pytest.ini_options]\naddopts = '--co'\n")}, "test_configuration"),
    "sitecustomize": ({"sitecustomize.py": text("import os; os._exit(0)")}, "startup_hook"),
    "usercustomize package": ({"src/usercustomize/__init__.py": text("import os; os._exit(0)")}, "startup_hook"),
    "pytest in the root": ({"pytest.py": text("raise SystemExit(0)")}, "shadowing"),
    "runner package": ({"src/_pytest/__init__.py": text("raise SystemExit(0)")}, "shadowing"),
    "standard library": ({"tests_helper.py": text(""), "random.py": text("raise SystemExit(0)")}, "shadowing"),
    "package over module": ({"src/shop/cart/__init__.py": text("class Cart: pass\n")}, "shadowing"),
    "package over package": ({"shop/__init__.py": text("class Cart: pass\n")}, "shadowing"),
    "path file": ({"x.pth": text("import os; os._exit(0)")}, "path_file"),
    "bytecode": ({"src/shop/cart.pyc": FileChange("file", b"x" * 40)}, "bytecode"),
    "unchecked bytecode": (
        {"src/shop/__pycache__/cart.cpython-311.pyc": FileChange("file", b"\xa7\r\r\n\1\0\0\0" + b"\0" * 20)},
        "bytecode",
    ),
    "plugin by metadata": (
        {"evil-0.1.dist-info/entry_points.txt": text("[pytest11]\nevil = evil\n"), "evil.py": text(PASS_ALL)},
        "package_metadata",
    ),
    "extension module": (
        {"src/shop/cart.cpython-311-x86_64-linux-gnu.so": FileChange("file", b"\x7fELF")},
        "binary_module",
    ),
    "git hooks": ({".git/hooks/post-checkout": text("#!/bin/sh\n")}, "version_control"),
    "outside": ({"../outside.py": text("")}, "bad_path"),
    "too large": ({"src/shop/data.bin": FileChange("file", b"\0" * (5 * 2**20))}, "size"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_could_decide_the_verdict_never_arrives(shop, name):
    """Without a fix: failed. The file is named in a finding, and nothing of it is among the kept changes."""
    task, store, _ = shop
    changes, kind = FILES[name]
    kept, findings = allowed_changes(task, changes, store)
    assert kind in {finding.kind for finding in findings}
    assert {finding.status for finding in findings} == {"blocked"}
    assert {finding.evidence for finding in findings if finding.kind == kind} - set(kept)
    assert grade(task, changes, store).outcome == "failed"


def test_a_dropped_file_does_not_take_the_fix_along(shop):
    task, store, solution = shop
    every = {path: change for changes, _ in FILES.values() for path, change in changes.items()}
    every.pop("tests")
    assert grade(task, {**every, **solution}, store).outcome == "solved"


SOURCES = {
    "exits at import": "import os\nos._exit(0)\n",
    "exits in the call": "def total(self):\n    import os\n    os._exit(0)\n",
    "system exit": "def total(self):\n    raise SystemExit(0)\n",
    "exit at shutdown": "import atexit, os\natexit.register(os._exit, 0)\n",
    "skips": "def total(self):\n    import pytest\n    pytest.skip('later')\n",
    "skips the module": "import pytest\npytest.skip('later', allow_module_level=True)\n",
    "xfails": "def total(self):\n    import pytest\n    pytest.xfail('later')\n",
    "pytest.exit": "def total(self):\n    import pytest\n    pytest.exit('done', returncode=0)\n",
    "prints success": "print('===== 12 passed in 0.01s =====')\nprint('tests/test_cart.py::test_total PASSED')\n",
    "writes into open files": FORGE,
    "replaces itself": "import os\nos.execv('/bin/true', ['true'])\n",
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_cannot_talk_their_way_to_a_reward(shop, name):
    """Skipped, xfailed, absent and unfinished all mean not passed; printed lines mean nothing."""
    task, store, solution = shop
    body = SOURCES[name]
    buggy = honest(solution).replace("price * count for", "price for")
    if body.startswith("def total"):
        body = "\n".join("    " + line for line in body.splitlines()) + "\n"
        source = buggy + "\n" + body
    else:
        source = body + buggy
    verdict = grade(task, {CART_PATH: text(source)}, store)
    assert verdict.outcome == "failed" and verdict.error is None
    assert any(verdict.tests[test] != "passed" for test in task.tests.f2p)


ENDLESS = {
    "hangs": "def total(self):\n    while True: pass\n",
    "takes all memory": "def total(self):\n    x = [b'x' * 2**20]\n    while True: x.append(b'y' * 2**24)\n",
    "forks without end": "def total(self):\n    import os\n    while True:\n        try: os.fork()\n"
    "        except OSError: pass\n",
    "floods its output": "def total(self):\n    import sys\n    while True: print('x' * 65536, file=sys.__stderr__)\n",
    "fills the disk": "def total(self):\n    with open('/tmp/f', 'wb') as f:\n"
    "        while True: f.write(b'x' * 2**20)\n",
    "kills its parent": "def total(self):\n    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_run_the_agents_code_ends_is_failed_not_excused(shop, hurried, name):
    """Otherwise an agent could turn a lost attempt into one that is not counted."""
    task, store = hurried
    body = "\n".join("    " + line for line in ENDLESS[name].splitlines()) + "\n"
    verdict = grade(task, {CART_PATH: text(honest(shop[2]) + "\n" + body)}, store)
    assert verdict.outcome == "failed" and verdict.error is None


def test_a_missing_blob_is_the_graders_failure(shop, tmp_path):
    task, store, solution = shop
    other = copy.deepcopy(task)
    other.reference.tree = "sha256:" + "0" * 64
    verdict = grade(other, solution, store)
    assert verdict.outcome == "grader_error" and "missing" in verdict.error and not verdict.resolved


def test_an_environment_that_is_not_there_is_named(shop):
    task, store, solution = shop
    other = copy.deepcopy(task)
    other.environment = "sha256:" + "1" * 64
    verdict = grade(other, solution, store)
    assert verdict.outcome == "environment_error" and "missing" in verdict.error


def test_a_sandbox_that_cannot_start_is_the_graders_failure(shop, tmp_path, monkeypatch):
    """The environment's interpreter is gone: no verdict, whatever was handed in."""
    task, store, solution = shop
    monkeypatch.setenv("REDTOGREEN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(environment, "preload_of", lambda *known: None)  # a warm one needs no file any more
    assert grade(task, solution, store).outcome == "solved"
    for interpreter in (tmp_path / "home" / "environments").glob("*/bin/python*"):
        interpreter.unlink()
    for changes in (solution, {}):
        verdict = grade(task, changes, store)
        assert verdict.outcome in ("grader_error", "environment_error") and verdict.error
    shutil.rmtree(tmp_path / "home" / "environments")
