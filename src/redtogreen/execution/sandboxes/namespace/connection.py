"""The host's handle to its launcher: started on first use, one per process, replaced when it is lost."""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import redtogreen.errors
from redtogreen.errors import SandboxError

from . import syscalls
from .channel import Channel, Closed, pair
from .hints import hint

SANDBOX_ID = 64321
"""User and group id of everything in a sandbox started by root."""
SETUP_SECONDS = 30.0
GRACE_SECONDS = 15.0
# Puts the package on the launcher's path without running any __init__ file: they may import what is slow or not there.
_BOOT = """import sys
for name, folder in zip(sys.argv[4:8], sys.argv[8:]):
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [folder]
from redtogreen.execution.sandboxes.namespace.launcher import main
main(*map(int, sys.argv[1:4]))
"""


class Launcher:
    """One launcher process. Calls from several threads wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        here = Path(__file__).resolve().parent
        folders = [Path(redtogreen.errors.__file__).resolve().parent, here.parents[1], here.parent, here]
        names = __name__.split(".")
        packages = [".".join(names[: count + 1]) for count in range(4)] + [str(folder) for folder in folders]
        self._channel, inside = pair()
        self._complaints = os.memfd_create("launcher-stderr")
        user = SANDBOX_ID if os.geteuid() == 0 else -1
        numbers = [str(number) for number in (inside.fileno(), os.getpid(), user)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, *numbers, *packages],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                pass_fds=(inside.fileno(),),
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                cwd="/",
                start_new_session=True,  # a terminal's Ctrl-C is for the host to act on
            )
        except OSError:
            self._channel.close()
            os.close(self._complaints)
            raise
        finally:
            inside.close()
        self._channel.set_timeout(SETUP_SECONDS)
        try:
            read_answer(self._channel, "ready", self)
        except BaseException:
            self.end()
            raise

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def complaint(self) -> str:
        """What its processes last wrote to standard error, as the end of a message."""
        text = os.pread(self._complaints, 4000, max(0, os.fstat(self._complaints).st_size - 2000)).decode(
            "utf-8", "replace"
        )
        return f"; its launcher said: {text.strip()}" if text.strip() else ""

    def fork(self, kind: str, plan: dict[str, Any], descriptors: list[int]) -> int:
        """Start a "sandbox" worker or a "server" and return a descriptor of its process. `descriptors` travel along."""
        with self._lock:
            try:
                self._channel.send((kind, plan), tuple(descriptors))
                _, (handle, *_) = read_answer(self._channel, "forked", self)
            except SandboxError:
                raise
            except BaseException:  # its answer may still come, and must not be taken for the next one's
                self._process.kill()
                raise
            return handle

    def end(self) -> None:
        """End it, and with it everything it started; returns when the last process is gone."""
        self._channel.hang_up()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def disown(self) -> None:
        """In a forked copy of the host: let go of what belongs to the original."""
        self._channel.close()
        self._process.returncode = 0  # not a child of this process, so nothing to wait for


def read_answer(channel: Channel, expected: str | None, launcher: Launcher) -> tuple[tuple, list[int]]:
    """The next answer and its descriptors. Raises SandboxError for a reported failure."""
    answer, descriptors = channel.receive()
    if answer[0] == "error":
        _, step, number, reason = answer
        code = f"[Errno {number}] " if number else ""
        raise SandboxError(f"the sandbox could not {step}: {code}{reason}", hint=hint(step, number))
    if expected is not None and answer[0] != expected:
        raise SandboxError(f"the sandbox said {answer[0]!r} where {expected!r} was due{launcher.complaint}")
    return answer, descriptors


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
