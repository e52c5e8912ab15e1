"""The command line of a run, and options of plugins that are left out on purpose."""

from __future__ import annotations

import json
import os

import pytest

_WITH_VALUE = ("--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "--dist", "--maxprocesses", "--tx")
_MAYBE_VALUE = ("--cov",)
_SWITCHES = ("--cov-append", "--cov-branch", "--no-cov", "--no-cov-on-fail", "--cov-reset", "--cov-precision")


def settings(environment: str) -> dict:
    """What the environment found out about the project: `plugins` (modules to load) and `ignore_addopts`."""
    with open(os.path.join(environment, "spec.json"), "rb") as file:
        return json.load(file)["pytest"]


def command_line(request: dict, settings: dict, root: str) -> list[str]:
    """Arguments for pytest.main: the project's own configuration counts, except where it changes results or order."""
    traces = ["--tb=no", "-rN"] if request["brief"] else ["--tb=short"]
    arguments = ["--rootdir", root, "-q", *traces, "--color=no", "--maxfail=0"]
    arguments += ["--continue-on-collection-errors"]
    for plugin in ("cacheprovider", "randomly", "xdist", "pytest_cov"):
        arguments += ["-p", f"no:{plugin}"]
    for plugin in settings["plugins"]:
        arguments += ["-p", plugin]
    if settings["ignore_addopts"]:
        arguments += ["-o", "addopts="]
    if request["collect"]:
        arguments += ["--collect-only", "-qq"]
    return arguments


class ForeignOptions:
    """Accepts and ignores what projects put into `addopts` for pytest-cov and pytest-xdist, which never run here."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        group = parser.getgroup("left out", "options of plugins that redtogreen leaves out")
        for name in _WITH_VALUE:
            group.addoption(name, action="append", dest="left_out", help="ignored")
        for name in _MAYBE_VALUE:
            group.addoption(name, action="append", nargs="?", const=True, dest="left_out", help="ignored")
        for name in _SWITCHES:
            group.addoption(name, action="store_true", dest="left_out_switch", help="ignored")
        # pytest keeps short lower-case options for itself; xdist takes -n the same way.
        group._addoption("-n", "--numprocesses", action="append", dest="left_out", help="ignored")

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "no_cover: a marker of pytest-cov, without effect here")
