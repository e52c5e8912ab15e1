"""The host's handle to its launcher: started on first use, one per process, replaced when it is lost."""

from __future__ import annotations

import atexit
import os
import select
import signal
import threading
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError

from ..requests import SANDBOX_ID
from ..trusted import SETUP_SECONDS, TrustedInterpreter
from . import syscalls
from .channel import Closed


class Launcher(TrustedInterpreter):
    """One launcher process. Calls from several threads wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        user = SANDBOX_ID if os.geteuid() == 0 else -1
        super().__init__(f"{__package__}.launcher", "launcher", user)
        self.channel.set_timeout(SETUP_SECONDS)
        try:
            self.answer("ready")
        except BaseException:
            self.end()
            raise

    def fork(self, kind: str, plan: dict[str, Any], descriptors: list[int]) -> int:
        """Start a "sandbox" worker or a "server" and return a descriptor of its process. `descriptors` travel along."""
        with self._lock:
            try:
                self.channel.send((kind, plan), tuple(descriptors))
                _, (handle, *_) = self.answer("forked")
            except SandboxError:
                raise
            except BaseException:  # its answer may still come, and must not be taken for the next one's
                self.kill()
                raise
            return handle


def open_trees(paths: list[str]) -> list[int]:
    """The mounts at these paths as descriptors that a process with fewer rights can attach; none when not root."""
    return [syscalls.open_tree(path) for path in paths] if os.geteuid() == 0 else []


def process_number(process: int) -> int:
    """The number of a process on this host; 0 when it is gone."""
    if process < 0:
        return 0
    for line in Path(f"/proc/self/fdinfo/{process}").read_text().splitlines():
        if line.startswith("Pid:"):
            return max(0, int(line.split()[1]))
    return 0


def await_end(process: int, seconds: float) -> None:
    """Wait until a process has ended, killing it after so many seconds; closes its descriptor."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    if not poll.poll(seconds * 1000):
        signal.pidfd_send_signal(process, signal.SIGKILL)
        poll.poll()
    os.close(process)


_current: Launcher | None = None
_starting = threading.Lock()


def launcher() -> Launcher:
    """The launcher of this process. Raises SandboxError when it cannot be started."""
    global _current
    with _starting:
        if _current is not None and not _current.alive:
            lost, _current = _current, None
            lost.end()
        if _current is None:
            try:
                _current = Launcher()
            except (Closed, OSError) as error:
                raise SandboxError(
                    f"the sandbox's launcher did not come up: {type(error).__name__}: {error}"
                ) from error
        return _current


def _end() -> None:
    global _current
    if _current is not None:
        ended, _current = _current, None
        ended.end()


def _after_fork() -> None:
    global _current, _starting
    _starting = threading.Lock()
    if _current is not None:
        others, _current = _current, None
        others.disown()


atexit.register(_end)
os.register_at_fork(after_in_child=_after_fork)
