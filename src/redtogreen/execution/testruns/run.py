"""Start the in-sandbox driver and read its report."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes.contract import Preload, ProcessResult, Sandbox
from redtogreen.execution.testruns.report import Report, read_report
from redtogreen.execution.testruns.results import CollectionError, TestRun
from redtogreen.execution.testruns.warm import warmly

INTERPRETER = ("/env/bin/python", "-P", "-s", "-B")
"""-P and -s keep the project and the user's folders off the start of sys.path. Not -I: that would also ignore
PYTHONHASHSEED; the whole environment of the process comes from us anyway."""
PROGRAMS = "/opt/redtogreen"
DRIVER = [*INTERPRETER, f"{PROGRAMS}/run_pytest.py"]
DRIVER_MODULES = ("pytest_channel", "pytest_report", "pytest_options", "pytest_modules")
"""What the driver imports from its own folder in every run."""
CODES_MODULE = "pytest_codes"
"""Looks up code by the digest of its source in a warm interpreter."""
_COVERAGE_MODULES = ("pytest_spectrum",)


@dataclass(frozen=True)
class Collection:
    """The test ids a project has, without running them."""

    tests: list[str]
    errors: list[CollectionError]
    complete: bool
    exit_status: int | None
    process: ProcessResult


@dataclass(frozen=True)
class Loaded:
    """What collecting a project's tests loads. What runs inside could forge it: trace only what no agent wrote."""

    modules: list[str]
    """Besides the project's own files, in order."""
    codes: dict[tuple[str, str, str], bytes]
    """(path, SHA-256 of the source, variant) of the project's files -> marshalled code; see inside/pytest_codes.py."""
    whole: bool
    """Every test file could be collected."""


def run_tests(
    sandbox: Sandbox,
    tests: Sequence[str] | None = None,
    *,
    seconds: float = 120,
    coverage: bool = False,
    hash_seed: int = 0,
    reverse: bool = False,
    brief: bool = False,
) -> TestRun:
    """Run the tests of the project in a sandbox's workspace with its own pytest configuration.

    `tests`: exactly these ids, or None for all. `seconds`: wall clock of the whole run. `coverage`: also measure which
    lines the tests executed. `hash_seed`: PYTHONHASHSEED, 0 to 4294967295. `reverse`: the other way round.
    `brief`: of failures only the status and the exception's name and message, which is much faster where many fail.

    Never raises for what the code under test does; raises SandboxError when the sandbox itself failed.
    """
    chosen = None if tests is None else list(dict.fromkeys(tests))
    report, process = _drive(sandbox, seconds, hash_seed, tests=chosen, coverage=coverage, reverse=reverse, brief=brief)
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


def trace_loading(sandbox: Sandbox, *, seconds: float = 120) -> Loaded:
    """Collect the tests once to see what that loads. Raises as `run_tests`."""
    report, _ = _drive(sandbox, seconds, 0, collect=True, trace=True)
    return Loaded(report.modules, report.codes, report.complete and not report.errors)


def _starts(sandbox: Sandbox) -> bool:
    """Whether it is the workspace that keeps the interpreter from working, which is never the machine's fault."""
    return sandbox.run([*INTERPRETER, "-c", "pass"], cwd="/").exit_code == 0


def _drive(
    sandbox: Sandbox,
    seconds: float,
    hash_seed: int,
    *,
    tests: list[str] | None = None,
    collect: bool = False,
    coverage: bool = False,
    reverse: bool = False,
    brief: bool = False,
    trace: bool = False,
) -> tuple[Report, ProcessResult]:
    request = {
        "tests": tests,
        "collect": collect,
        "coverage": coverage,
        "reverse": reverse,
        "trace": trace,
        "brief": brief,
    }

    def drive(warm: Preload | None) -> tuple[Report, ProcessResult]:
        token = secrets.token_hex(16)
        process = sandbox.run(
            DRIVER,
            stdin=json.dumps({"token": token, **request}).encode(),
            env={"PYTHONHASHSEED": str(hash_seed)},
            seconds=seconds,
            report=True,
            warm=replace(warm, modules=(*warm.modules, *_COVERAGE_MODULES)) if warm and coverage else warm,
        )
        return read_report(process.report, token), process

    report, process = drive(None) if collect else warmly(sandbox, drive)
    if process.verdict == "sandbox":
        raise SandboxError(f"a test run could not be carried out: {process.stderr.text.strip()[-500:]}")
    if not report.greeted and process.exit_code in (126, 127) and not _starts(sandbox):
        raise SandboxError(
            "the interpreter of the environment does not start inside the sandbox: "
            + process.stderr.text.strip()[-500:],
            "open the sandbox with open_workspace, which brings the environment along",
        )
    return report, process
