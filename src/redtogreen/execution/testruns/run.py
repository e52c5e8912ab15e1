"""Start the in-sandbox driver and read its report."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes.contract import ProcessResult, Sandbox
from redtogreen.execution.testruns.report import Report, read_report
from redtogreen.execution.testruns.results import CollectionError, TestRun

DRIVER = ["/env/bin/python", "-P", "-s", "-B", "/opt/redtogreen/run_pytest.py"]
"""-P and -s keep the project and the user's folders off the start of sys.path. Not -I: that would also ignore
PYTHONHASHSEED; the whole environment of the process comes from us anyway."""


@dataclass(frozen=True)
class Collection:
    """The test ids a project has, without running them."""

    tests: list[str]
    errors: list[CollectionError]
    complete: bool
    exit_status: int | None
    process: ProcessResult


def run_tests(
    sandbox: Sandbox,
    tests: Sequence[str] | None = None,
    *,
    seconds: float = 120,
    coverage: bool = False,
    hash_seed: int = 0,
    reverse: bool = False,
) -> TestRun:
    """Run the tests of the project in a sandbox's workspace with its own pytest configuration.

    `tests`: exactly these ids, or None for all. `seconds`: wall clock of the whole run. `coverage`: also measure which
    lines the tests executed. `hash_seed`: PYTHONHASHSEED, 0 to 4294967295. `reverse`: the other way round.

    Never raises for what the code under test does; raises SandboxError when the sandbox itself failed.
    """
    chosen = None if tests is None else list(dict.fromkeys(tests))
    report, process = _drive(sandbox, seconds, hash_seed, tests=chosen, coverage=coverage, reverse=reverse)
    return TestRun(
        tests=report.tests,
        collection_errors=report.errors,
        complete=report.complete,
        exit_status=report.exit_status,
        process=process,
        spectrum=report.spectrum if coverage else None,
    )


def collect_tests(sandbox: Sandbox, *, seconds: float = 120) -> Collection:
    """Find out the test ids by importing the test files, without running a test. Raises as `run_tests`."""
    report, process = _drive(sandbox, seconds, 0, collect=True)
    return Collection(report.items, report.errors, report.complete, report.exit_status, process)


def _drive(
    sandbox: Sandbox,
    seconds: float,
    hash_seed: int,
    *,
    tests: list[str] | None = None,
    collect: bool = False,
    coverage: bool = False,
    reverse: bool = False,
) -> tuple[Report, ProcessResult]:
    token = secrets.token_hex(16)
    request = {"token": token, "tests": tests, "collect": collect, "coverage": coverage, "reverse": reverse}
    process = sandbox.run(
        DRIVER,
        stdin=json.dumps(request).encode(),
        env={"PYTHONHASHSEED": str(hash_seed)},
        seconds=seconds,
        report=True,
    )
    if process.verdict == "sandbox":
        raise SandboxError(f"a test run could not be carried out: {process.stderr.text.strip()[-500:]}")
    report = read_report(process.report, token)
    if not report.greeted and process.verdict == "failure" and process.exit_code in (126, 127):
        raise SandboxError(
            "the interpreter of the environment does not start inside the sandbox: "
            + process.stderr.text.strip()[-500:],
            "open the sandbox with open_workspace, which brings the environment along",
        )
    return report, process
