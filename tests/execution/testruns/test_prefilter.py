"""Mutants judged in forks of one process: the right verdict, and nothing of one mutant reaches the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from redtogreen.execution.testruns.prefilter import Judged, Mutant, prefilter

SOURCE = """\
import functools
LIMIT = 10
def clip(value):
    if value > LIMIT:
        value = LIMIT
    return value
@functools.lru_cache
def double(value, by=2):
    return value * by
class Box:
    size = 3
    def area(self):
        return self.size * self.size
    def spare(self):
        return 0
def maker():
    def made():
        return 5
    return made
five = maker()
def wait(value):
    while value:
        value -= 1
    return value
"""
TESTS = """\
import subprocess, sys
from sample import Box, clip, double, five, wait
def test_clip(): assert clip(99) == 10
def test_double(): assert double(4) == 8
def test_box(tmp_path): assert Box().area() == 9
def test_five(): assert five() == 5
def test_wait(): assert wait(3) == 0
def test_late():
    from sample import late
    assert late.late() == 1
def test_unsteady(): assert clip(1) == 2
"""
FILES = {
    "src/sample/__init__.py": SOURCE,
    "src/sample/late.py": "ONE = 1\n\n\ndef late():\n    return ONE\n",
    "tests/test_sample.py": TESTS,
}


def _mutant(name: str, before: str, after: str, path: str = "src/sample/__init__.py") -> Mutant:
    start = FILES[path].index(before)
    return Mutant(name, path, start, start + len(before), after.encode())


@pytest.fixture
def judge(opened) -> Callable[[Sequence[Mutant]], dict[str, Judged]]:
    def judge_(mutants: Sequence[Mutant], tests: Sequence[str] | None = None) -> dict[str, Judged]:
        with opened(FILES) as sandbox:
            return prefilter(sandbox, mutants, tests=tests).mutants

    return judge_


def test_every_verdict_and_its_reason(judge):
    judged = judge(
        [
            _mutant("condition", "value > LIMIT", "value < LIMIT"),
            _mutant("same", "value = LIMIT\n    return", "value = LIMIT + 0\n    return"),
            _mutant("deleted line", "        value = LIMIT\n", "        pass\n"),
            _mutant("cached", "value * by", "value + by + 1"),
            _mutant("method", "self.size * self.size", "self.size + self.size"),
            _mutant("closure alive since import", "return 5", "return 6"),
            _mutant("file imported by a test", "return ONE", "return -ONE", "src/sample/late.py"),
            _mutant("module of that file", "ONE = 1", "ONE = 2", "src/sample/late.py"),
            _mutant("nobody runs it", "return 0", "return 1"),
            _mutant("default", "by=2", "by=3"),
            _mutant("class body", "size = 3", "size = 4"),
            _mutant("module", "LIMIT = 10", "LIMIT = 11"),
            _mutant("at import", "    def made", "    pass\n    def made"),
            _mutant("endless", "value -= 1", "pass"),
            _mutant("broken", "return self.size *", "return self.size +*"),
            _mutant("the first again", "value > LIMIT", "value < LIMIT"),
        ]
    )
    killed = {
        "condition": "test_clip",
        "deleted line": "test_clip",
        "cached": "test_double",
        "method": "test_box",
        "closure alive since import": "test_five",
        "file imported by a test": "test_late",
        "module of that file": "test_late",
        "the first again": "test_clip",
    }
    assert {name: one.test for name, one in judged.items() if one.verdict == "killed"} == {
        name: f"tests/test_sample.py::{test}" for name, test in killed.items()
    }
    assert {name for name, one in judged.items() if one.verdict == "survived"} == {"same", "nobody runs it"}
    assert judged["nobody runs it"].tests == 0
    assert judged["endless"].verdict == "timeout"
    unknown = {name: one.reason for name, one in judged.items() if one.verdict == "unknown"}
    assert unknown.keys() == {"default", "class body", "module", "at import", "broken"}
    assert "run once" in unknown["default"] and "run once" in unknown["class body"]
    assert "module itself" in unknown["module"] or "run once" in unknown["module"]
    assert "compile" in unknown["broken"]


def test_only_the_tests_that_count_are_run(judge):
    mutant = _mutant("method", "self.size * self.size", "self.size + self.size")
    assert judge([mutant], ["tests/test_sample.py::test_clip"])["method"].verdict == "survived"


def test_what_a_mutant_leaves_behind_is_gone_before_the_next(opened):
    files = {
        "src/sample/__init__.py": "def work():\n    return 1\n",
        "tests/test_it.py": """\
            import os, subprocess, sys, time
            from sample import work

            def test_it():
                others = [pid for pid in os.listdir("/proc") if pid.isdigit()]
                commands = [open(f"/proc/{pid}/cmdline").read() for pid in others if os.path.exists(f"/proc/{pid}")]
                assert not any("sleep\\0" in command for command in commands), "STRAY"
                if work() == 2:
                    subprocess.Popen(["setsid", "sleep", "600"], start_new_session=True)
                    time.sleep(0.2)
                assert work() in (1, 2)
            """,
    }
    start = files["src/sample/__init__.py"].index("1")
    mutants = [Mutant(str(number), "src/sample/__init__.py", start, start + 1, b"2") for number in range(3)]
    with opened(files) as sandbox:
        judged = prefilter(sandbox, mutants).mutants
        assert not sandbox.changes().keys() - {"src/sample/__init__.py"}
    assert {one.verdict for one in judged.values()} == {"survived"}, judged


def test_a_suite_that_ends_its_process_makes_every_mutant_unknown(opened):
    files = {
        "src/sample/__init__.py": "def work():\n    return 1\n",
        "tests/test_it.py": "import os\n\ndef test_it():\n    os._exit(3)\n",
    }
    with opened(files) as sandbox:
        judged = prefilter(sandbox, [Mutant("m", "src/sample/__init__.py", 23, 24, b"2")]).mutants
    assert judged["m"].verdict == "unknown"
    assert "exit code 3" in judged["m"].reason


def test_a_project_that_does_not_start_makes_every_mutant_unknown(opened):
    files = {"src/sample/__init__.py": "x = 1\n", "conftest.py": "raise SystemExit(9)\n", "test_it.py": ""}
    with opened(files) as sandbox:
        judged = prefilter(sandbox, [Mutant("m", "src/sample/__init__.py", 4, 5, b"2")]).mutants
    assert judged["m"].verdict == "unknown" and "failure" in judged["m"].reason
