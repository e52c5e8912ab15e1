"""Runs jobs in separate processes of this machine, one job at a time each.

The processes are started afresh, not forked, so that none inherits threads or half-open files. A lost process costs
its job and nothing else. Nothing stays behind: not after Ctrl-C, not when this process is killed.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from redtogreen.errors import EnvironmentUnavailable, UsageError

Job = TypeVar("Job")
Result = TypeVar("Result")
Emit = Callable[[dict[str, Any]], None]

STOP_SECONDS = 10.0
"""Seconds the workers have to unwind before they are killed."""
_BOOT = """import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
sys.path[:] = connection.recv()
from redtogreen.execution.executors.worker import serve
serve(connection, int(sys.argv[2]))
"""


class WorkerLost(EnvironmentUnavailable):
    """A worker process ended before its job did: killed, out of memory, or crashed."""


def run_jobs(
    function: Callable[[Job, Emit], Result],
    jobs: Iterable[Job],
    workers: int,
    on_event: Emit | None = None,
    *,
    keep: Sequence[int] = (),
) -> Generator[tuple[Job, Result | BaseException], None, None]:
    """Each job with the result of `function(job, emit)`, or the exception it raised, in order of completion.

    `function`, jobs and results travel by pickle, so `function` must be importable by name. `emit` hands a small dict
    to `on_event` in this process. File descriptors in `keep` stay open in every worker. A worker that dies yields
    WorkerLost for its job and is replaced. Ctrl-C, an error in the caller's loop and closing the iterator end all
    workers and wait for them. Raises EnvironmentUnavailable when workers cannot even start, UsageError when `function`
    cannot be sent.
    """
    packed = _packed(function)
    pending = iter(jobs)
    crew: list[_Worker] = []
    exhausted = False
    try:
        while True:
            while not exhausted and len(crew) < max(1, workers):
                try:
                    job = next(pending)
                except StopIteration:
                    exhausted = True
                    break
                crew.append(_Worker(packed, job, keep))
            if not crew:
                return
            for worker in _ready(crew):
                outcome = worker.listen(on_event)
                if outcome is None:
                    continue
                job, following = worker.job, _END
                if not isinstance(outcome, _Lost) and not exhausted:
                    following = next(pending, _END)
                    exhausted = following is _END
                if following is not _END:
                    worker.give(following)
                else:
                    crew.remove(worker)
                    worker.dismiss()
                yield job, outcome.value
    finally:
        _stop(crew)


_END: Any = object()


@dataclass(frozen=True)
class _Outcome:
    """What became of one job."""

    value: Any


class _Lost(_Outcome):
    """The worker is gone and its job with it."""


class _Worker:
    """One process with the socket to it and the job it has."""

    def __init__(self, function: bytes, job: Any, keep: Sequence[int]):
        self.job = job
        self.started = False
        ours, theirs = socket.socketpair()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard output belongs to data
                pass_fds=(theirs.fileno(), *keep),
                start_new_session=True,  # a terminal's Ctrl-C is for this process to act on
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.connection = Connection(ours.detach())
        self.handle = os.pidfd_open(self.process.pid)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a dead worker is seen when it is read
            self.connection.send(sys.path)
            self.connection.send_bytes(function)
            self.connection.send(job)

    def give(self, job: Any) -> None:
        self.job = job
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(job)

    def listen(self, on_event: Emit | None) -> _Outcome | None:
        """Pass on the events that have arrived; returns how the job ended, None while it goes on."""
        gone = bool(wait([self.handle], 0))  # looked at first: what it sent before it went is still read
        try:
            while self.connection.poll():
                kind, *content = self.connection.recv()
                if kind == "ready":
                    self.started = True
                elif kind != "event":
                    return _Outcome(content[0])
                elif on_event is not None:
                    on_event(content[0])
        except (EOFError, ConnectionResetError, pickle.UnpicklingError):
            gone = True
        if not gone:
            return None
        code = self.process.wait()
        how = f"was ended by signal {-code}" if code < 0 else f"exited with status {code}"
        if not self.started:
            raise EnvironmentUnavailable(
                f"a worker process could not start: it {how}", "its own message stands above on standard error"
            )
        return _Lost(WorkerLost(f"worker process {self.process.pid} {how} while it had a job"))

    def dismiss(self) -> None:
        """Let an idle or dead worker end."""
        with contextlib.suppress(OSError):
            self.connection.send(None)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reap()

    def reap(self) -> None:
        self.process.wait()
        self.connection.close()
        os.close(self.handle)


def _ready(crew: list[_Worker]) -> list[_Worker]:
    signalled = set(wait([source for one in crew for source in (one.connection, one.handle)]))
    return [one for one in crew if one.connection in signalled or one.handle in signalled]


def _packed(function: Any) -> bytes:
    if getattr(function, "__module__", None) == "__main__":
        raise UsageError(
            f"{getattr(function, '__qualname__', function)} is defined in the script itself; a worker cannot import it",
            "move it into a module",
        )
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise UsageError(f"the function cannot be sent to a worker: {error}", "use a function of a module") from error


def _stop(crew: list[_Worker]) -> None:
    """End all workers and wait for them; a second Ctrl-C meanwhile only makes it faster."""
    if not crew:
        return

    def hurry(number: int, frame: Any) -> None:
        for one in crew:
            one.process.kill()

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, hurry) if main else None
    try:
        for one in crew:
            one.process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for one in crew:
            try:
                one.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.process.kill()
            one.reap()
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
