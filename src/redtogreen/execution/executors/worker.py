"""One worker process: takes a job, runs it, sends the result; ends with its parent.

A worker stays single-threaded, reads no standard input, leaves Ctrl-C to its parent, and unwinds on SIGTERM (which it
also gets when the parent dies, however it dies). What does not unwind in time is ended by a timer.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

PARENT_GONE = 72
UNWIND_SECONDS = 5.0
"""Seconds a worker has after SIGTERM before its own timer ends it."""
_PR_SET_PDEATHSIG = 1


def serve(connection: Connection, parent: int) -> None:
    """Run jobs from the connection until it closes.

    Sends ("ready",) once, then per job any number of ("event", dict) and one ("done", result) or ("failed", exception).
    """
    signal.signal(signal.SIGINT, _nothing)  # a handler, not SIG_IGN: programs started from here get the default back
    signal.signal(signal.SIGTERM, _unwind)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(PARENT_GONE)
    try:
        _serve(connection, parent)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        sys.exit(PARENT_GONE)


def _serve(connection: Connection, parent: int) -> None:
    function = connection.recv()
    connection.send(("ready",))
    while os.getppid() == parent and (message := connection.recv()) is not None:
        try:
            outcome = ("done", function(message, lambda event: connection.send(("event", event))))
        except Exception as error:
            outcome = ("failed", _portable(error))
        try:
            packed = pickle.dumps(outcome)
        except Exception as error:
            packed = pickle.dumps(("failed", TypeError(f"the job's result cannot be sent to its parent: {error}")))
        connection.send_bytes(packed)


def _portable(error: Exception) -> Exception:
    """The error itself when it survives the way to the parent, else one that says the same."""
    shown = "".join(traceback.format_exception(error))
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            error.add_note(shown)
            return error
    except Exception:
        pass
    stand_in = RuntimeError(f"{type(error).__name__}: {error}")
    stand_in.add_note(shown)
    return stand_in


class Ended(SystemExit):
    """The parent, or its death, ends this worker: nobody may catch it but to clean up."""


def _nothing(number: int, frame: Any) -> None:
    pass


def _unwind(number: int, frame: Any) -> None:
    signal.signal(signal.SIGTERM, _nothing)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, UNWIND_SECONDS)
    raise Ended(128 + signal.SIGTERM)
