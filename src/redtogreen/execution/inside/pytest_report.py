"""A pytest plugin that sends one record per test id over all its phases, and one per collection error."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import pytest
from _pytest.assertion import util
from pytest_channel import Channel, clean

MESSAGE, TRACEBACK, FRAMES = 2_000, 8_000, 50
GENEROUS = 8 * 2**20
"""Bytes of messages and tracebacks after which only short ones are sent, so that a broken suite stays reportable."""
SHORT = 300
NO_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"


class Recorder:
    """Selects, orders and reports the tests of one run."""

    def __init__(self, channel: Channel, request: dict, spectrum: Any | None):
        self.statuses: dict[str, str] = {}
        self.interrupted = False
        self._channel = channel
        self._wanted = None if request["tests"] is None else set(request["tests"])
        self._reverse = request["reverse"]
        self._collect = request["collect"]
        self._spectrum = spectrum
        self._root = os.getcwd() + os.sep
        self._phases: dict[str, dict] = {}
        self._details: dict[str, dict] = {}
        self._spent = 0

    # ---- selection

    def pytest_configure(self, config: pytest.Config) -> None:
        os.environ.pop(NO_AUTOLOAD, None)  # the tests must not see it
        # Set after the configuration was found, so that a selected run reads the same configuration as a full one.
        if self._wanted is None:
            return
        files = sorted({test.split("::", 1)[0] for test in self._wanted})
        present = [self._root + file for file in files if file and os.path.exists(self._root + file)]
        if not any("[" in file for file in present):  # pytest takes a bracket in an argument for a parameter
            config.args = present

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._wanted is not None:
            out = [item for item in items if clean(item.nodeid) not in self._wanted]
            if out:
                items[:] = [item for item in items if clean(item.nodeid) in self._wanted]
                config.hook.pytest_deselected(items=out)
        if self._reverse:
            items.reverse()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self._collect:
            for item in session.items:
                self._channel.send({"kind": "item", "id": clean(item.nodeid)})

    # ---- results

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        test = clean(item.nodeid)
        self._phases[test] = {"status": None, "stage": "call"}
        if self._spectrum:
            self._spectrum.begin(test)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        report = yield
        if report.failed and call.excinfo is not None:
            self._details.setdefault(clean(item.nodeid), self._describe(call.excinfo.value, call.excinfo.tb))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = clean(report.nodeid)
        phases = self._phases.get(test)
        status = _status(report)
        if phases is None or status is None or phases["status"] in ("failed", "error"):
            return
        if phases["status"] is not None and status not in ("failed", "error"):
            return
        phases["status"], phases["stage"] = status, report.when
        if report.failed:
            phases.update(self._details.get(test) or self._describe(None, None))
            text = str(report.longrepr or "")
            phases["traceback"] = self._bounded(text, TRACEBACK)
            if len(text) > TRACEBACK:  # pytest keeps and prints it: thousands of these would fill memory and output
                report.longrepr = _cut(text, TRACEBACK)
        elif status in ("skipped", "xfailed", "xpassed"):
            phases["message"] = self._bounded(_reason(report), MESSAGE)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        test = clean(nodeid)
        phases = self._phases.pop(test, None)
        self._details.pop(test, None)
        if phases is None or phases["status"] is None:
            return
        self._channel.send({"kind": "test", "id": test, **phases})
        if self.statuses.get(test) not in ("failed", "error"):
            self.statuses[test] = phases["status"]

    # ---- what goes wrong before and around the tests

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self):
        try:
            return (yield)
        except Exception as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, BaseException):
                self._collection_error(str(getattr(error, "path", "")), cause, repr(error))
            raise

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo, report) -> None:
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            error = call.excinfo.value
            path = str(getattr(node, "path", ""))
            cause = getattr(error, "cause", None)
            if isinstance(cause, BaseException):  # a conftest.py below the root
                path, error = str(getattr(error, "path", path)), cause
            elif isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
                error = error.__cause__
            self._collection_error(path, error, str(report.longrepr or ""))

    def pytest_internalerror(self, excrepr: object, excinfo: pytest.ExceptionInfo) -> None:
        self.interrupted = True
        self._collection_error("", excinfo.value, str(excrepr))

    def pytest_keyboard_interrupt(self) -> None:  # KeyboardInterrupt and pytest.exit()
        self.interrupted = True

    def _collection_error(self, path: str, error: BaseException, text: str) -> None:
        details = self._describe(error, error.__traceback__)
        self._channel.send(
            {
                "kind": "collection_error",
                "path": clean(path.removeprefix(self._root)),
                "exception": details["exception"],
                "message": details["message"],
                "traceback": self._bounded(text, TRACEBACK),
            }
        )

    # ---- exceptions as data

    def _describe(self, error: BaseException | None, trace) -> dict:
        frames: deque = deque(maxlen=FRAMES)
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename.startswith(self._root):
                frames.append([clean(code.co_filename[len(self._root) :]), trace.tb_lineno or 0, clean(code.co_name)])
            trace = trace.tb_next
        return {
            "exception": clean(type(error).__name__) if error is not None else None,
            "message": self._bounded(_text(error), MESSAGE),
            "frames": list(frames),
        }

    def _bounded(self, text: str, size: int) -> str:
        if self._spent > GENEROUS:
            size = SHORT
        text = _cut(text, size)
        self._spent += len(text)
        return clean(text)


class Brief:
    """Failures without what only a reader wants: explaining a comparison and showing a traceback costs many times what
    the test did."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        util._reprcompare = None  # set anew for every test

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        item.repr_failure = item._repr_failure_py = _typename  # type: ignore[method-assign, assignment]
        return (yield)


def _typename(excinfo: pytest.ExceptionInfo, style: object = None) -> str:
    return excinfo.typename


def _cut(text: str, size: int) -> str:
    """At most `size` characters: the first quarter and the end."""
    if len(text) <= size:
        return text
    head = size // 4
    return f"{text[:head]}\n[...]\n{text[-(size - head - 7) :]}"


def _status(report: pytest.TestReport) -> str | None:
    """What one phase says about its test; None when it says nothing."""
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if hasattr(report, "context"):  # a part of a test that did not fail decides nothing
        return None
    expected = hasattr(report, "wasxfail")
    if report.skipped:
        return "xfailed" if expected else "skipped"
    if report.when == "call":
        return "xpassed" if expected else "passed"
    return None


def _reason(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail)
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr or "")


def _text(error: BaseException | None) -> str:
    """`str(error)`, whatever that does: the text comes from the code under test."""
    if error is None:
        return ""
    try:
        return str(error)
    except BaseException as broken:
        return f"<str() of the exception raised {type(broken).__name__}>"
