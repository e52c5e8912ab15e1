"""The host's warm servers: started when a kind of command comes a second time, a few kept, given up on any doubt."""

from __future__ import annotations

import atexit
import contextlib
import logging
import marshal
import os
import socket
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from redtogreen.errors import SandboxError

from ..contract import Mount, Preload
from ..requests import Opening
from . import cgroups
from .channel import Closed
from .connection import Launcher, await_end, open_trees, process_number
from .orders import FORMAT, OPENED_FILES, READY
from .output import sealed

MOST = 4
"""Servers kept per host process; the one unused for longest goes first."""
START_SECONDS = 60.0
_log = logging.getLogger("redtogreen")
_PROGRAM = Mount(Path(__file__).resolve().parent, "/opt/sandbox")
_MEMORY, _PROCESSES, _DISK, _INODES = 2**30, 64, 16 * 2**20, 1_000
_BOOT = """import sys
sandbox = sys.modules["sandbox"] = type(sys)("sandbox")
sandbox.__path__ = ["/opt/sandbox"]
from sandbox.warm import serve
exec(*serve())
"""
_lock = threading.Lock()
_known: OrderedDict[tuple, _Entry] = OrderedDict()


class Server:
    """One running server. `control` takes orders (see warm.order)."""

    def __init__(self, preload: Preload, shown: Opening, env: dict[str, str], launcher: Launcher):
        self._groups = cgroups.create(_MEMORY, _PROCESSES)
        _, groups = self._groups.entrances()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output, output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        names = [*preload.modules, *(preload.prepare or ())[:1]]
        words = [names, preload.folder, len(preload.interpreter)]
        stdin = sealed(marshal.dumps(words, FORMAT))
        mounts = [*shown.mounts, (os.path.abspath(_PROGRAM.source), _PROGRAM.target)]
        plan = {
            "lower": None,
            "mounts": mounts,
            "covered": list(shown.covered),
            "roots": list(preload.roots),
            "groups": len(groups),
            "disk": _DISK,
            "inodes": _INODES,
            "argv": [*preload.interpreter, "-c", _BOOT],
            "env": env,
        }
        trees: list[int] = []
        self._process, self._launcher = -1, launcher
        try:
            trees = open_trees([source for source, _ in mounts])
            self._process = launcher.fork("server", plan, [theirs.fileno(), stdin, output, *groups, *trees])
        except BaseException:
            self.end()
            raise
        finally:
            theirs.close()
            for descriptor in (stdin, output, *groups, *trees):
                os.close(descriptor)
        self.control = self._ours.fileno()

    @property
    def pid(self) -> int:
        """Its number on this host; 0 when it is gone."""
        return process_number(self._process)

    def why_not(self) -> str | None:
        """Wait until the modules are loaded; why the server cannot be used, or None when it can."""
        self._ours.settimeout(START_SECONDS)
        try:
            answer = self._ours.recv(64)
        except TimeoutError:
            return f"it was not ready after {START_SECONDS:.0f} seconds"
        if not answer:
            return f"it ended at once: {self._complaint()}"
        if answer == OPENED_FILES:
            return "loading the modules opened files that a fork would lose"
        if answer != READY:
            return "a module that it loaded spoke in its place"
        status = Path(f"/proc/{self.pid}/status").read_text()
        threads = int(status.partition("Threads:")[2].split()[0])
        return None if threads == 1 else f"loading the modules started {threads - 1} threads that a fork would lose"

    def end(self) -> None:
        """Hang up, on which the server ends; kill one that does not listen."""
        with contextlib.suppress(OSError):  # it hung up first
            self._ours.shutdown(socket.SHUT_RDWR)
        self._ours.close()
        if self._process >= 0:
            await_end(self._process, 1.0)
            self._process = -1
        os.close(self._output)
        self._groups.remove()

    def _complaint(self) -> str:
        try:
            said = os.read(self._output, 4000).decode("utf-8", "replace").strip()[-500:]
        except BlockingIOError:
            said = ""
        return said or f"it said nothing{self._launcher.complaint}"


class _Entry:
    """A kind of server: not started before it was wanted twice, and never again once it was given up."""

    def __init__(self) -> None:
        self.wanted = 0
        self.server: Server | None = None
        self.launcher: Launcher | None = None
        self.given_up = False


def fits(preload: Preload, argv: Sequence[str]) -> bool:
    """Whether a command is this interpreter with a script."""
    size = len(preload.interpreter)
    return tuple(argv[:size]) == preload.interpreter and len(argv) > size and not argv[size].startswith("-")


def find(preload: Preload, shown: Opening, env: dict[str, str], launcher: Launcher) -> tuple[Server, int] | None:
    """The server for commands with these variables, started now if need be, and a descriptor of the way to it, the
    caller's to close: another thread may end the server meanwhile. None: run it cold."""
    known = replace(preload, prepare=None if preload.prepare is None else (preload.prepare[0], b""))
    key = (known, tuple(shown.mounts), shown.covered, tuple(sorted(env.items())))
    with _lock:
        entry = _known.setdefault(key, _Entry())
        _known.move_to_end(key)
        entry.wanted += 1
        if entry.given_up or entry.wanted == 1:
            return None
        if entry.server is not None and entry.launcher is not launcher:  # it ended with its launcher
            entry.server.end()
            entry.server = None
        if entry.server is None:
            _start(entry, preload, shown, env, launcher)
        return None if entry.server is None else (entry.server, os.dup(entry.server.control))


def give_up(server: Server, reason: str) -> None:
    """Run commands of its kind cold from now on, and say so."""
    with _lock:
        for entry in _known.values():
            if entry.server is server:
                _abandon(entry, reason)


def _end() -> None:
    with _lock:
        for entry in _known.values():
            if entry.server is not None:
                entry.server.end()
        _known.clear()


def _after_fork() -> None:
    """They belong to the original."""
    global _lock
    _lock = threading.Lock()
    _known.clear()


def _start(entry: _Entry, preload: Preload, shown: Opening, env: dict[str, str], launcher: Launcher) -> None:
    running = [other for other in _known.values() if other.server is not None]
    for other in running[: max(0, len(running) - MOST + 1)]:
        assert other.server is not None
        other.server.end()
        other.server = None
    try:
        entry.server, entry.launcher = Server(preload, shown, env, launcher), launcher
        reason = entry.server.why_not()
    except (Closed, OSError, SandboxError) as error:
        reason = str(error)
    if reason is not None:
        _abandon(entry, reason)


def _abandon(entry: _Entry, reason: str) -> None:
    _log.warning("tests of one environment run cold from now on: its warm server was given up: %s", reason)
    if entry.server is not None:
        entry.server.end()
    entry.server, entry.given_up = None, True


atexit.register(_end)
os.register_at_fork(after_in_child=_after_fork)
