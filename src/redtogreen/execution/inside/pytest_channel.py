"""The request on standard input and the report on file descriptor 3."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys

REPORT = 3
OUT_OF_THE_WAY = 60
"""Lowest number the report channel is moved to, so that tests which count descriptors see the usual ones."""


def open_channel() -> tuple[dict, Channel]:
    """Read the request, take the report channel out of the reach of child processes, leave stdin empty."""
    descriptor = fcntl.fcntl(REPORT, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    os.close(REPORT)
    with os.fdopen(os.dup(0), "rb") as stream:
        request = json.load(stream)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return request, Channel(descriptor, request["token"])


def clean(text: str) -> str:
    """The text with everything that is not valid UTF-8 replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Channel:
    """Whole lines to the reader outside; a forked copy of this process cannot write to it."""

    def __init__(self, descriptor: int, token: str):
        self._descriptor = descriptor
        self._token = token
        self._owner = os.getpid()
        self.sent = 0

    def send(self, record: dict) -> None:
        if os.getpid() != self._owner:
            return
        line = f"{self._token} {json.dumps(record)}\n".encode()
        while line:
            line = line[os.write(self._descriptor, line) :]
        self.sent += 1

    def leave(self, status: int) -> None:
        """End at once: everything is reported, and threads or exit handlers of the tests must not hold the run up."""
        if os.getpid() == self._owner:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):  # a test closed it; the report is out already
                    stream.flush()
            os._exit(status)
