"""What one run of a suite came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from redtogreen.execution.sandboxes.contract import ProcessResult
from redtogreen.records.base import TestStatus

Stage = Literal["setup", "call", "teardown"]
FailureStage = Literal["syntax", "import", "collection", "assertion", "pass"]

Spectrum = dict[str, dict[int, tuple[int, int]]]
"""File -> line -> (failing tests, passing tests) that executed it; each test counts once per line."""


class Frame(NamedTuple):
    """One level of a traceback inside the workspace."""

    path: str
    """Relative to the workspace."""
    line: int
    function: str


@dataclass(frozen=True)
class TestResult:
    """One test id over setup, call and teardown."""

    __test__ = False  # pytest would take the name for a test class

    status: TestStatus
    """Never "absent". A strict xpass is "failed"; a failing subtest makes its test "failed"."""
    stage: Stage = "call"
    """The phase that decided."""
    exception: str | None = None
    """Name of the exception's type; None when there was none."""
    message: str = ""
    """`str()` of the exception, or the reason of a skip; at most 2,000 characters."""
    traceback: str = ""
    """As pytest shows it (short form); at most 8,000 characters, cut in the middle."""
    frames: list[Frame] = field(default_factory=list)
    """Frames inside the workspace, the innermost last; at most 50."""


@dataclass(frozen=True)
class CollectionError:
    """A file whose tests could not be found out."""

    path: str
    """Relative to the workspace; empty when pytest itself broke."""
    exception: str
    message: str
    traceback: str = ""


@dataclass(frozen=True)
class TestRun:
    """All that one run reported. What ran inside the sandbox could forge it: the grader does not rely on it alone."""

    __test__ = False

    tests: dict[str, TestResult]
    collection_errors: list[CollectionError]
    complete: bool
    """The session ended by itself and every record arrived. False after os._exit, a crash, a limit, pytest.exit()."""
    exit_status: int | None
    """pytest's own: 0 passed, 1 failed, 2 interrupted, 3 internal error, 4 usage error, 5 no tests; None: not seen."""
    process: ProcessResult
    spectrum: Spectrum | None = None

    def status(self, test: str) -> TestStatus:
        """The status of one id; "absent" when it was not reported."""
        result = self.tests.get(test)
        return "absent" if result is None else result.status

    @property
    def failure_stage(self) -> FailureStage:
        """How far the code got: the earliest stage at which something went wrong."""
        names = {error.exception for error in self.collection_errors}
        if names & {"SyntaxError", "IndentationError", "TabError"}:
            return "syntax"
        if names & {"ImportError", "ModuleNotFoundError"}:
            return "import"
        if names or (not self.tests and not self.complete) or self.exit_status in (3, 4):
            return "collection"
        failed = any(result.status in ("failed", "error") for result in self.tests.values())
        return "assertion" if failed or not self.complete else "pass"

    @property
    def exceptions(self) -> list[str]:
        """Sorted names of all exception types that made tests or their collection fail."""
        names = {error.exception for error in self.collection_errors}
        names |= {result.exception for result in self.tests.values() if result.exception is not None}
        return sorted(names)
