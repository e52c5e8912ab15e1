"""Runs a project's pytest suite inside the sandbox and reports every test on its own channel, never on stdout.

Started as `/env/bin/python -P -s -B /opt/redtogreen/run_pytest.py` in the root of the project. Standard input holds
the request, one JSON object: `token`, `tests` (ids, or null for all), `collect` (only list the ids), `coverage`,
`reverse`, `brief` (failures without tracebacks). What the project needs of pytest (`plugins`, `ignore_addopts`) stands
in /env/spec.json. File descriptor 3 takes the report: lines of `<token> <JSON>`, a `hello` first, an `end` with the
number of records last.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    before = set(sys.modules)  # more than usual when a warm interpreter runs this
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import pytest_channel

    request, channel = pytest_channel.open_channel()
    import pytest_report

    spectrum = None
    if request["coverage"]:
        import pytest_spectrum

        spectrum = pytest_spectrum.Spectrum(os.getcwd())
    import pytest_modules
    import pytest_options

    codes = None
    if request["trace"]:
        import base64

        import pytest_codes

        codes = pytest_codes.record(os.getcwd())
    del sys.path[0]
    # The tests see what they would see under `pytest` itself.
    sys.argv = [os.path.join(os.path.dirname(sys.executable), "pytest")]

    import pytest

    os.environ[pytest_report.NO_AUTOLOAD] = "1"
    recorder = pytest_report.Recorder(channel, request, spectrum)
    plugins = [recorder, pytest_options.ForeignOptions(), *([spectrum] if spectrum else [])]
    plugins += [pytest_report.Brief()] if request["brief"] else []
    channel.send({"kind": "hello", "pytest": pytest.__version__, "python": sys.version.split()[0]})
    status = int(
        pytest.main(
            pytest_options.command_line(request, pytest_options.settings(sys.prefix), os.getcwd()),
            plugins=plugins,
        )
    )
    if spectrum:
        for file, lines in spectrum.lines(recorder.statuses):
            channel.send({"kind": "spectrum", "file": file, "lines": lines})
    if found := pytest_modules.shadowed(before, os.getcwd()):
        channel.send({"kind": "shadowed", "names": found})
    if codes is not None:
        channel.send({"kind": "modules", "names": pytest_modules.loaded(os.getcwd())})
        for (path, digest, variant), code in codes:
            text = base64.b64encode(code).decode()
            channel.send({"kind": "code", "path": path, "digest": digest, "variant": variant, "code": text})
    channel.send({"kind": "end", "records": channel.sent, "exit_status": status, "interrupted": recorder.interrupted})
    channel.leave(status)


if __name__ == "__main__":
    main()
