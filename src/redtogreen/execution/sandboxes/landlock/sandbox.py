"""The sandbox made without namespaces: the host's side."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError

from ..contract import BASE_ENVIRONMENT, Changes, FileChange, Limits, Mount, Preload, ProcessResult, check_changes
from ..namespace import owner_for_lower
from ..namespace.channel import Closed, pair
from ..namespace.connection import GRACE_SECONDS, SETUP_SECONDS
from ..namespace.hints import hint
from ..requests import Facts, check_command, check_lower, check_places, judge, packed
from .places import Places
from .promises import promised

_SOURCE = Path(__file__).resolve().parents[4]
# Runs no __init__ file on the way: they may import what is slow or, without site-packages, not there.
_BOOT = """import sys
for name in sys.argv[4:]:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [sys.argv[3] + "/" + name.replace(".", "/")]
from redtogreen.execution.sandboxes.landlock.worker import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""
_ADVICE = {
    "Landlock": "Linux 5.19 or newer is needed, with Landlock switched on (lsm=landlock,... on its command line)",
    "show ": "keep it where every user may read and enter, outside the home of root",
}


def available() -> str | None:
    """None when a sandbox starts here, else why not and what to do about it. Tries it."""
    with tempfile.TemporaryDirectory() as folder:
        owner = owner_for_lower()
        if owner is not None:
            os.chown(folder, owner, owner)
        try:
            open_sandbox(Path(folder)).close()
        except SandboxError as error:
            return str(error)
    return None


def open_sandbox(
    lower: Path,
    *,
    mounts: Sequence[Mount] = (),
    covered: Sequence[str] = (),
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
    preload: Preload | None = None,
) -> LandlockSandbox:
    """Copy the directory `lower` for a new sandbox, with `changes` applied.

    There is no mount namespace, so /work, /tmp and the targets of mounts do not exist inside: `paths` says where they
    really lie, and the words, variables and folder of every command are rewritten to that.
    covered: absolute paths inside that can neither be listed nor read. preload: not used, every command starts cold.
    env: added to the fixed environment of every command.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    owner = owner_for_lower()
    check_changes(changes or {})
    check_lower(lower, os.geteuid() if owner is None else owner)
    check_places(mounts, covered)
    _check_paths(mounts, covered)
    environment = {**BASE_ENVIRONMENT, **(env or {})}
    return LandlockSandbox(lower, mounts, covered, changes or {}, limits or Limits(), environment)


class LandlockSandbox:
    """One sandbox. Commands run one at a time; calls from several threads wait for each other.

    `worker_process` is a pid on the host; `reasons` says why a guarantee is not enforced; `paths` where a promised
    path really lies.
    """

    def __init__(
        self,
        lower: Path,
        mounts: Sequence[Mount],
        covered: Sequence[str],
        changes: Changes,
        limits: Limits,
        env: dict[str, str],
    ):
        self.limits, self.env = limits, env
        self.skipped: list[str] = []
        self.preload: Preload | None = None
        self._lock = threading.RLock()
        self._host = os.getpid()
        self._broken: str | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        shown = {mount.target: os.path.realpath(mount.source) for mount in mounts}
        try:
            self._start_worker()
            self._channel.set_timeout(10 * SETUP_SECONDS)
            self._channel.send(("open", self._plan(lower, shown, covered)))
            _, version, own_user, room = self._answer()
            self.guarantees, self.reasons = promised(own_user=own_user, version=version)
            self.paths = {"/work": f"{room}/work", "/tmp": f"{room}/tmp", **shown}
            self._places = Places(self.paths)
            self._probe()
            if changes:
                self.write(changes)
        except BaseException as error:
            self._end()
            if isinstance(error, (Closed, OSError)):
                raise SandboxError(f"the sandbox's worker did not come up: {error!r}{self._complaint}") from error
            raise

    def run(
        self,
        argv: list[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        seconds: float | None = None,
        report: bool = False,
        cwd: str = "/work",
        warm: Preload | None = None,
    ) -> ProcessResult:
        """Run one command to its end, and the end of everything it started.

        seconds: wall clock, the limit's by default. report: give it a pipe as descriptor 3.
        warm: not used, every command starts cold.
        Raises SandboxError when the sandbox is closed, has died before, or does not answer; UsageError for a command
        that cannot be one.
        """
        seconds = self.limits.seconds if seconds is None else seconds
        environment = {**self.env, **(env or {})}
        check_command(argv, environment, cwd, seconds)
        request = {
            "argv": [self._places.inside(word) for word in argv],
            "env": {name: self._places.inside(value) for name, value in environment.items()},
            "stdin": bytes(stdin),
            "seconds": float(seconds),
            "report": report,
            "cwd": self._places.inside(cwd),
        }
        _, facts, streams = self._ask("run", request, seconds + GRACE_SECONDS)
        status = facts["status"]
        known = Facts(
            code=None if status is None or os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            reason=facts["reason"],
            failure=facts["failure"],
            crowded=facts["crowded"],
            full=facts["full"],
            strays=facts["strays"],
            seconds=facts["seconds"],
            cpu_seconds=facts["cpu_seconds"],
        )
        return judge(known, *streams)

    def changes(self) -> Changes:
        """Every file and link in which the workspace differs from the lower tree. Sets `skipped`."""
        _, found, self.skipped = self._ask("changes", None)
        return {path: FileChange(*change) for path, change in found.items()}

    def write(self, changes: Changes) -> None:
        """Write into the workspace from outside. Raises SandboxError for a path that leads through a link."""
        check_changes(changes)
        self._ask("write", packed(changes))

    def close(self) -> None:
        """End the sandbox. When this returns nothing of it lives. (A forked copy of the host ends nothing.)"""
        if os.getpid() != self._host:
            return
        with self._lock:
            self._end()
            self._broken = self._broken or "it is closed"

    def __enter__(self) -> LandlockSandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _plan(self, lower: Path, shown: dict[str, str], covered: Sequence[str]) -> dict[str, Any]:
        limits, outside = self.limits, Places(shown)
        return {
            "folder": os.path.realpath(tempfile.gettempdir()),
            "lower": os.path.abspath(lower),
            "shown": list(shown.values()),
            "covered": [outside.inside(path) for path in covered],
            "disk": limits.disk,
            "inodes": limits.inodes,
            "memory": limits.memory,
            "processes": limits.processes,
            "output": limits.output,
            "report": limits.report,
            "cores": os.cpu_count() or 1,
        }

    def _probe(self) -> None:
        """Nothing has been promised before a command has run once, in the workspace."""
        result = self.run(["/bin/sh", "-c", ":"], seconds=SETUP_SECONDS)
        if result.verdict != "ok":
            text = result.stderr.text.strip()[-500:]
            raise SandboxError(
                f"no command starts in the workspace {self.paths['/work']}: {text or result.verdict}",
                "set TMPDIR to a folder that every user may enter",
            )

    def _start_worker(self) -> None:
        self._channel, inside = pair()
        self._complaints = os.memfd_create("worker-stderr")
        environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(inside.fileno()), str(os.getpid())]
        names = __name__.split(".")[:-1]
        packages = [".".join(names[: count + 1]) for count in range(len(names))]
        packages.append(".".join([*names[:-1], "namespace"]))
        try:
            self._worker = subprocess.Popen(
                [*command, str(_SOURCE), *packages],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                pass_fds=(inside.fileno(),),
                env=environment,
                cwd="/",
                start_new_session=True,  # a terminal's Ctrl-C is for the host to act on
            )
        except OSError:
            self._channel.close()
            os.close(self._complaints)
            raise
        finally:
            inside.close()
        self.worker_process = self._worker.pid

    def _ask(self, order: str, argument: Any, seconds: float | None = None) -> tuple:
        with self._lock:
            if self._broken:
                raise SandboxError(f"the sandbox cannot be used any more: {self._broken}", hint="open a new sandbox")
            try:
                self._channel.set_timeout(seconds or 10 * SETUP_SECONDS)
                self._channel.send((order, argument))
                return self._answer()
            except SandboxError:
                raise
            except BaseException as error:
                self._broken = f"{type(error).__name__} during {order!r}"
                self._end()
                if isinstance(error, (Closed, OSError)):
                    raise SandboxError(f"the sandbox failed: {self._broken}{self._complaint}") from error
                raise

    def _answer(self) -> tuple:
        answer, _ = self._channel.receive()
        if answer[0] == "error":
            _, step, number, reason = answer
            code = f"[Errno {number}] " if number else ""
            advice = next((text for word, text in _ADVICE.items() if word in step), None) or hint(step, number)
            raise SandboxError(f"the sandbox could not {step}: {code}{reason}", hint=advice)
        return answer

    _complaint = ""

    def _end(self) -> None:
        """Hang up, on which the worker ends and all it started with it; kill it when it does not."""
        worker, self._worker = self._worker, None
        if worker is not None:
            self._channel.hang_up()
            try:
                worker.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            text = os.pread(self._complaints, 4000, 0).decode("utf-8", "replace").strip()
            self._complaint = f"; its worker said: {text[-2000:]}" if text else ""
            os.close(self._complaints)


def _check_paths(mounts: Sequence[Mount], covered: Sequence[str]) -> None:
    for mount in mounts:
        if mount.target.startswith(("/usr/", "/etc/")) and str(mount.source) != mount.target:
            raise SandboxError(f"cannot mount {mount.source} at {mount.target}", hint="choose a path such as /env")
    for path in covered:
        if os.path.isfile(path):
            raise SandboxError(f"cannot cover {path}: it is no directory")
