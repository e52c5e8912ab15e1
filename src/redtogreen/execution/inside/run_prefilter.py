"""Judges many mutants of a project in one process: killed, survived, timeout or unknown, one record for each.

Started like run_pytest.py, in the root of a project that no agent has touched. The request holds `token`, `tests`
(ids that count, or null for all), `seconds` (for the intact suite) and `mutants`, each with `name`, `path`, `start`,
`end` and `replacement` (base64). The report is lines of `<token> <JSON>`.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import pytest_channel

    request, channel = pytest_channel.open_channel()
    import pytest_options
    import pytest_prefilter

    del sys.path[0]
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "pytest")]

    import pytest

    os.environ[pytest_prefilter.NO_AUTOLOAD] = "1"
    command_line = pytest_options.command_line(
        {**request, "collect": False, "brief": False}, pytest_options.settings(sys.prefix), os.getcwd()
    )
    status = pytest.main(
        [*command_line, "--basetemp", "/tmp/prefilter"],  # the forks use it one after the other
        plugins=[pytest_prefilter.Prefilter(channel, request), pytest_options.ForeignOptions()],
    )
    channel.leave(int(status))


if __name__ == "__main__":
    main()
