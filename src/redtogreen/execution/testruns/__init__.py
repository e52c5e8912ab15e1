"""Run a suite in a sandbox: one typed result per test id, read from a channel the tests' output cannot reach."""

from __future__ import annotations

from redtogreen.execution.testruns.results import CollectionError, Frame, TestResult, TestRun
from redtogreen.execution.testruns.run import Collection, collect_tests, run_tests

__all__ = ["Collection", "CollectionError", "Frame", "TestResult", "TestRun", "collect_tests", "run_tests"]
