"""A pytest plugin that collects a suite once and then judges every mutant in a fork of that moment.

No test has run in the process that is forked: what a test leaves in a cache would hide a mutant from the next.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import coverage
import forked
import pytest
from pytest_channel import Channel, clean
from pytest_report import NO_AUTOLOAD
from swapped_code import Change, LivingFunctions, SourceFile, Unswappable


class Measured(NamedTuple):
    """What the tests do when nothing is changed."""

    passed: list[int]
    """Indexes of tests."""
    spent: list[float]
    """CPU seconds of each test, with the measuring."""
    lines: dict[str, dict[int, list[int]]]
    """File -> line -> indexes of the tests that executed it."""


class Prefilter:
    """Takes the place of the loop that runs the tests."""

    def __init__(self, channel: Channel, request: dict):
        os.environ.setdefault("COVERAGE_CORE", "ctrace")
        self._channel, self._root = channel, os.getcwd()
        self._mutants, self._seconds = request["mutants"], request["seconds"]
        self._wanted = None if request["tests"] is None else set(request["tests"])
        self._files = sorted({os.path.join(self._root, mutant["path"]) for mutant in self._mutants})
        self._failed: dict[str, bool] = {}
        self._passed: set[str] = set()
        self._kills: dict[int, int] = {}
        self._import = self._coverage()
        self._import.start()

    def _coverage(self) -> coverage.Coverage:
        return coverage.Coverage(data_file=None, config_file=False, messages=False, include=self._files)

    def pytest_configure(self) -> None:
        os.environ.pop(NO_AUTOLOAD, None)  # the tests must not see it

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._wanted is not None:
            items[:] = [item for item in items if clean(item.nodeid) in self._wanted]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = True
        elif report.passed and report.when == "call" and not hasattr(report, "wasxfail"):
            self._passed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._import.stop()
        session.config.option.tbstyle = "value"  # nobody reads the tracebacks
        forked.adopt_orphans()
        whole = forked.in_fork(lambda: tuple(self._measure(session.items)), self._seconds, self._seconds)
        if whole.answer is None:
            self._channel.send({"kind": "lost", "reason": f"the intact suite {whole.reason}"})
            return True
        measured = Measured(*whole.answer)
        living = LivingFunctions()
        at_import = {path: set(self._import.get_data().lines(path) or ()) for path in self._files}
        gc.collect()
        gc.freeze()  # forks share what is not touched
        sources: dict[str, SourceFile] = {}
        for mutant in self._mutants:
            path = os.path.join(self._root, mutant["path"])
            try:
                if path not in sources:
                    sources[path] = SourceFile(path, living)
                verdict = self._verdict(session, mutant, sources[path], measured, at_import[path])
            except Unswappable as why:
                verdict = {"verdict": "unknown", "reason": str(why)}
            except (OSError, SyntaxError, ValueError) as error:
                verdict = {"verdict": "unknown", "reason": f"{type(error).__name__}: {error}"}
            self._channel.send({"kind": "mutant", "name": mutant["name"], **verdict})

        return True

    def _measure(self, items: list[pytest.Item]) -> Measured:
        measuring = self._coverage()
        measuring.start()
        spent = []
        for index, (item, following) in enumerate(_with_next(items)):
            measuring.switch_context(str(index))
            start = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            spent.append(time.process_time() - start)
        measuring.stop()
        data = measuring.get_data()
        lines = {
            path: {line: [int(test) for test in tests if test] for line, tests in data.contexts_by_lineno(path).items()}
            for path in data.measured_files()
        }
        passed = [i for i, item in enumerate(items) if item.nodeid in self._passed - self._failed.keys()]
        return Measured(passed, spent, lines)

    def _verdict(
        self, session: pytest.Session, mutant: dict, source: SourceFile, measured: Measured, at_import: set[int]
    ) -> dict[str, Any]:
        edit = (mutant["start"], mutant["end"], base64.b64decode(mutant["replacement"]))
        change = source.change(*edit)
        covered = measured.lines.get(source.path, {})
        able = {test for line in change.lines for test in covered.get(line, ())} & {*measured.passed}
        tests = sorted(able, key=lambda test: (-self._kills.get(test, 0), measured.spent[test]))
        ended = forked.Ended((None,), "answered", 0.0)
        if tests:
            cpu = 0.5 + 5 * sum(measured.spent[test] for test in tests)
            with _written(source, edit):
                ended = forked.in_fork(lambda: self._judge(session, change, tests), cpu, 10 * cpu + 5)
        facts = {"tests": len(tests), "cpu_seconds": ended.cpu_seconds}
        if ended.answer is None:
            verdict = "timeout" if ended.reason == "timeout" else "unknown"
            return {"verdict": verdict, "reason": ended.reason, **facts}
        (killer,) = ended.answer
        if killer is not None:
            self._kills[killer] = self._kills.get(killer, 0) + 1
            return {"verdict": "killed", "test": clean(session.items[killer].nodeid), **facts}
        if change.body & at_import:
            return {"verdict": "unknown", "reason": "what it changes was used while the tests were imported", **facts}
        return {"verdict": "survived", **facts}

    def _judge(self, session: pytest.Session, change: Change, tests: list[int]) -> tuple[int | None]:
        for function, code in change.swaps:
            function.__code__ = code
        for test, following in _with_next(tests):
            item, after = session.items[test], None if following is None else session.items[following]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return (test,)
        return (None,)


def _with_next(things: list) -> Iterator[tuple[Any, Any]]:
    return zip(things, [*things[1:], None], strict=True)


@contextlib.contextmanager
def _written(source: SourceFile, edit: tuple[int, int, bytes]) -> Iterator[None]:
    """The mutant on disk too, for whoever imports late, starts another interpreter or reads the source."""
    _write(source.path, source.mutated(*edit))
    try:
        yield
    finally:
        _write(source.path, source.content)


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
