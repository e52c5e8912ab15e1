"""Work in a fork of this process: its answer, and nothing of it left running."""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

PR_SET_CHILD_SUBREAPER = 36


class Ended(NamedTuple):
    """How a fork ended."""

    answer: Any
    """What the work returned, or None when it did not come so far."""
    reason: str
    """"answered", "timeout", or what ended it instead."""
    cpu_seconds: float


def adopt_orphans() -> None:
    """Whatever loses its parent below this process becomes its child from now on, so that it can be found and ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def in_fork(work: Callable[[], Any], cpu: float, wall: float) -> Ended:
    """Run `work` in a fork, which gets `cpu` seconds of processor time and `wall` seconds of wall clock.

    The answer must be made of what `marshal` writes. Every process that the fork started ends with it.
    """
    known = _children()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _work(work, writing, cpu)
    os.close(writing)
    watched = os.pidfd_open(child)
    try:
        message, in_time = _receive(reading, watched, wall)
    finally:
        os.close(reading)
        os.close(watched)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        _end_strays(known)
    cpu_seconds = usage.ru_utime + usage.ru_stime
    if message is not None:
        return Ended(marshal.loads(message), "answered", cpu_seconds)
    if not in_time or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGXCPU)):
        return Ended(None, "timeout", cpu_seconds)
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
    return Ended(None, f"ended by {how}", cpu_seconds)


def _work(work: Callable[[], Any], writing: int, cpu: float) -> None:
    status = 1
    try:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, cpu)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 2, int(cpu) + 2))  # where the timer was set again
        message = marshal.dumps(work())
        message = len(message).to_bytes(8, "big") + message
        while message:
            message = message[os.write(writing, message) :]
        status = 0
    finally:
        os._exit(status)


def _receive(reading: int, watched: int, wall: float) -> tuple[bytes | None, bool]:
    """The message, and whether the time was enough; a process left behind may hold the pipe open for ever."""
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    ready.register(watched, select.POLLIN)
    received, deadline = b"", time.monotonic() + wall
    while (left := deadline - time.monotonic()) > 0:
        found = dict(ready.poll(left * 1000))
        if reading in found:
            part = os.read(reading, 2**20)
            received += part
            if len(received) >= 8 and len(received) - 8 >= int.from_bytes(received[:8], "big"):
                return received[8:], True
            if part:
                continue
        if found:
            return None, True
    return None, False


def _children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return {int(pid) for pid in file.read().split()}


def _end_strays(known: set[int]) -> None:
    while strays := _children() - known:
        for pid in strays:
            os.kill(pid, signal.SIGKILL)
        for pid in strays:
            os.waitpid(pid, 0)
