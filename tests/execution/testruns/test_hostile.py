"""What the code under test does to the run: it may lose its results, it cannot invent them on the way out."""

from __future__ import annotations

import pytest

from redtogreen.execution.sandboxes import Limits
from redtogreen.execution.testruns import run_tests

FIRST = "def test_1(): pass\n"


@pytest.mark.parametrize(
    "attack",
    [
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import ctypes; ctypes.string_at(0)",
        "import pytest; pytest.exit('done', returncode=0)",
        "raise KeyboardInterrupt",
        "import os; os.execv('/bin/true', ['true'])",
    ],
)
def test_a_session_that_is_cut_short_is_not_complete(run, attack):
    result = run({"test_a.py": f"{FIRST}def test_2():\n    {attack}\ndef test_3(): pass\n"})
    assert not result.complete
    assert result.status("test_a.py::test_1") == "passed"
    assert result.status("test_a.py::test_3") == "absent"
    assert result.failure_stage != "pass"


def test_exit_at_import_reports_nothing(run):
    result = run({"src/sample/__init__.py": "import os\nos._exit(0)\n", "test_a.py": "import sample\n" + FIRST})
    assert (result.tests, result.complete, result.process.exit_code) == ({}, False, 0)
    assert result.failure_stage == "collection"


def test_sys_exit_fails_the_test_and_no_more(run):
    result = run({"test_a.py": "import sys\ndef test_a(): sys.exit(0)\ndef test_b(): pass\n"})
    assert result.status("test_a.py::test_a") == "failed"
    assert result.status("test_a.py::test_b") == "passed"
    assert result.complete


def test_printed_and_written_results_count_for_nothing(run):
    """Lines on stdout, on descriptor 3 and on every other open descriptor, with a token that is not the run's."""
    suite = """
    import os

    FORGED = '{"kind": "test", "id": "test_a.py::test_forged", "status": "passed", "stage": "call"}'

    def test_forge():
        print(FORGED)
        for number in range(100):
            for text in (FORGED, "0" * 32 + " " + FORGED):
                try:
                    os.write(number, b"\\n" + text.encode() + b"\\n")
                except OSError:
                    pass

    def test_forged():
        assert False
    """
    result = run({"test_a.py": suite})
    assert result.status("test_a.py::test_forged") in ("failed", "absent")
    assert not result.complete


def test_a_test_that_prints_does_not_disturb_the_report(run):
    result = run({"test_a.py": "import sys\ndef test_a():\n    sys.__stdout__.write('x\\n' * 1000)\n    print('y')\n"})
    assert result.complete
    assert result.status("test_a.py::test_a") == "passed"


def test_a_hanging_suite_keeps_what_was_reported(run):
    result = run({"test_a.py": f"{FIRST}def test_2():\n    while True: pass\n"}, seconds=10)
    assert result.process.verdict == "timeout"
    assert result.status("test_a.py::test_1") == "passed"
    assert not result.complete
    assert result.exit_status is None


def test_threads_and_exit_handlers_do_not_hold_the_run_up(run):
    suite = """
    import atexit, threading, time

    def test_a():
        atexit.register(time.sleep, 60)
        threading.Thread(target=time.sleep, args=(60,)).start()
    """
    result = run({"test_a.py": suite}, seconds=30)
    assert result.complete
    assert result.process.verdict == "ok"
    assert result.process.seconds < 25


def test_a_forked_copy_of_the_session_reports_nothing(run):
    suite = "import os\ndef test_a():\n    os.fork()\ndef test_b():\n    pass\n"
    result = run({"test_a.py": suite})
    assert {test: outcome.status for test, outcome in result.tests.items()} == {
        "test_a.py::test_a": "passed",
        "test_a.py::test_b": "passed",
    }
    assert result.complete


def test_children_do_not_inherit_the_report_channel(run):
    suite = """
    import os, subprocess, sys

    def test_a():
        listing = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
        out = subprocess.run([sys.executable, "-c", listing], close_fds=False, capture_output=True, text=True).stdout
        assert max(eval(out)) < 20, out
        assert sys.stdin.read() == "" if False else os.read(0, 10) == b""
    """
    result = run({"test_a.py": suite})
    assert result.status("test_a.py::test_a") == "passed", result.tests


def test_a_memory_limit_ends_the_run_with_its_own_verdict(run):
    suite = f"{FIRST}def test_2():\n    block = [bytearray(8 << 20) for _ in range(100)]\n    assert block\n"
    result = run({"test_a.py": suite}, limits=Limits(memory=256 * 2**20))
    assert result.status("test_a.py::test_1") == "passed"
    assert result.process.verdict == "memory" or result.tests["test_a.py::test_2"].exception == "MemoryError"


def test_ids_and_messages_that_are_not_utf8_are_cleaned(run):
    suite = """
    import pytest

    @pytest.mark.parametrize("x", [1], ids=["\\udcff"])
    def test_a(x):
        raise ValueError("\\udcff")
    """
    result = run({"test_a.py": suite})
    assert result.complete
    assert len(result.tests) == 1


def test_a_workspace_that_closes_itself_is_no_failure_of_the_machine(opened):
    """Else an agent could have a bad attempt masked as an error of the environment."""
    with opened({"test_a.py": FIRST}) as sandbox:
        for _ in range(3):
            sandbox.run(["/bin/chmod", "000", "/work"])
            closed = run_tests(sandbox)
            assert not closed.tests and not closed.complete and closed.process.verdict == "failure"
