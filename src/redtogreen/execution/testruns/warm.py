"""Test runs from a warm interpreter, and the doubts that send them back to a cold one.

A warm run must come out as a cold one. Three things are watched: whether the workspace offers a module in the place of
one that was loaded before, whether the run broke before its first test, and, for every hundredth run that left the
workspace as it was, whether the same run started cold reports the same.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable

from redtogreen.execution.sandboxes.contract import Preload, ProcessResult, Sandbox
from redtogreen.execution.testruns.report import Report

EVERY = 100
"""One in so many warm runs is audited."""
_BROKEN = (3, 4)
"""Exit statuses of pytest: internal error, usage error (a broken plugin or conftest.py)."""
_log = logging.getLogger("redtogreen")
_runs = itertools.count(1)
_distrusted: set[Preload] = set()
Drive = Callable[[Preload | None], tuple[Report, ProcessResult]]


def warmly(sandbox: Sandbox, drive: Drive) -> tuple[Report, ProcessResult]:
    """The result of `drive(preload)`, warm where that is as good as cold."""
    if sandbox.preload is None or sandbox.preload in _distrusted:
        return drive(None)
    audited = next(_runs) % EVERY == 0
    before = sandbox.changes() if audited else None
    report, process = drive(sandbox.preload)
    if not process.warm:
        return report, process
    if report.shadowed:
        _log.warning("tests run cold: the workspace has modules of its own named %s", ", ".join(report.shadowed[:5]))
        return drive(None)
    # It broke before the first test, which may be its start's fault.
    if not report.tests and (not report.complete or report.exit_status in _BROKEN):
        return drive(None)
    if audited and sandbox.changes() == before:
        cold = drive(None)
        if _outcome(cold[0]) != _outcome(report):
            _distrusted.add(sandbox.preload)
            _log.warning("tests of one environment run cold from now on: a warm run did not come out as a cold one")
            return cold
    return report, process


def _outcome(report: Report) -> tuple[dict[str, str], bool, int | None]:
    return {test: result.status for test, result in report.tests.items()}, report.complete, report.exit_status
