"""Which lines each test executed, as counts of failing and passing tests per line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import CodeType

import coverage
import pytest

_TESTS = ("*/tests/*", "*/test/*", "*/test_*.py", "*_test.py", "*/conftest.py")


class Spectrum:
    """Measures with coverage.py in this process, in memory, switching the context at every test."""

    def __init__(self, root: str):
        os.environ.setdefault("COVERAGE_CORE", "ctrace")  # the only core that can switch contexts while running
        self._root = root
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, messages=False, include=[os.path.join(root, "*")], omit=list(_TESTS)
        )
        self._running = False

    def begin(self, test: str) -> None:
        """Everything executed from now on belongs to this test."""
        if not self._running:
            self._coverage.start()
            self._running = True
        self._coverage.switch_context(test)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._running:
            self._coverage.stop()

    def lines(self, statuses: dict[str, str]) -> Iterator[tuple[str, list[list[int]]]]:
        """Per file below the root: [line, failing tests, passing tests]; lines that only run on import are left out."""
        data = self._coverage.get_data()
        for path in sorted(data.measured_files()):
            try:
                inside = _function_lines(path)
            except (OSError, SyntaxError, ValueError):  # a test moved or rewrote the file it had imported
                continue
            counts = []
            for line, tests in sorted(data.contexts_by_lineno(path).items()):
                seen = [statuses.get(test) for test in set(tests)]
                failing = sum(status in ("failed", "error") for status in seen)
                passing = seen.count("passed")
                if line in inside and (failing or passing):
                    counts.append([line, failing, passing])
            if counts:
                yield os.path.relpath(path, self._root), counts


def _function_lines(path: str) -> set[int]:
    """Lines that belong to the code of some function, so not only to the module's or a class's body."""
    with open(path, "rb") as file:
        waiting: list[CodeType] = [compile(file.read(), path, "exec", dont_inherit=True)]
    lines: set[int] = set()
    while waiting:
        code = waiting.pop()
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        if code.co_flags & 0x1:  # CO_OPTIMIZED: a function, not a module or class body
            lines.update(line for _, _, line in code.co_lines() if line)
    return lines
