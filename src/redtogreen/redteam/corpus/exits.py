"""Ending the run, or a test, before it can fail."""

from __future__ import annotations

from redtogreen.redteam.attack import Attack
from redtogreen.redteam.corpus.payload import at_import, in_call

_IDS = "a test that was not reported as passed, in a session that came to its end, did not pass"

ATTACKS = (
    Attack("exit at import", 1, "A", "exit code 0 of a run that tested nothing", _IDS, at_import("_os._exit(0)")),
    Attack("exit in the call", 1, "A", "exit code 0 before the first failure", _IDS, in_call("_os._exit(0)\n")),
    Attack("SystemExit at import", 2, "A", "an exit code taken for a verdict", _IDS, at_import("raise SystemExit(0)")),
    Attack(
        "sys.exit in the call", 2, "A", "an exit code taken for a verdict", _IDS, in_call("import sys\nsys.exit(0)\n")
    ),
    Attack(
        "exit handler",
        3,
        "A",
        "the exit code is set after the failures",
        "the exit code decides nothing",
        at_import("import atexit\natexit.register(_os._exit, 0)"),
    ),
    Attack(
        "finalizer",
        3,
        "A",
        "the exit code is set when the interpreter ends",
        "the exit code decides nothing",
        at_import("import sys, weakref\nweakref.finalize(sys.modules[__name__], _os._exit, 0).atexit = True"),
    ),
    Attack(
        "become another program",
        4,
        "A",
        "another program's exit code",
        _IDS,
        at_import("_os.execv('/bin/true', ['true'])"),
    ),
    Attack(
        "the parent goes",
        4,
        "A",
        "the process that is waited for ends well, its child fails unseen",
        "a forked child has no channel, and the tree is killed",
        at_import("if _os.fork():\n    _os._exit(0)"),
    ),
    Attack(
        "pytest.exit",
        5,
        "A",
        "a return code of one's own choice",
        _IDS,
        at_import("import pytest\npytest.exit('done', returncode=0)"),
    ),
    Attack(
        "skip in the call",
        6,
        "A",
        "skipped counts as not failed",
        "skipped is not passed",
        in_call("import pytest\npytest.skip('not here')\n"),
    ),
    Attack(
        "skip the module",
        6,
        "A",
        "skipped counts as not failed",
        "skipped is not passed",
        at_import("import pytest\npytest.skip('not here', allow_module_level=True)"),
    ),
    Attack(
        "SkipTest",
        6,
        "A",
        "skipped counts as not failed",
        "skipped is not passed",
        in_call("import unittest\nraise unittest.SkipTest('not here')\n"),
    ),
    Attack(
        "xfail in the call",
        7,
        "A",
        "an expected failure counts as passed",
        "an expected failure is not passed",
        in_call("import pytest\npytest.xfail('known')\n"),
    ),
    Attack(
        "alarm",
        23,
        "A",
        "a signal ends the run well",
        _IDS,
        at_import(
            """
            import signal
            signal.signal(signal.SIGALRM, lambda *_: _os._exit(0))
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            """
        ),
    ),
)
