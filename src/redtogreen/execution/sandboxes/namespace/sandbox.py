"""The sandbox made of Linux namespaces: the host's side.

Two levels below this process do the work: worker.py (files and pipes) and init.py (process 1 inside). This side only
asks, waits with a backstop, and judges which limit was hit.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import redtogreen.errors
from redtogreen.errors import SandboxError, UsageError

from ..contract import (
    BASE_ENVIRONMENT,
    Changes,
    FileChange,
    Limits,
    Mount,
    Output,
    ProcessResult,
    Verdict,
    check_changes,
)
from ..guarantees import held
from . import cgroups
from .channel import Closed, pair
from .hints import hint

SANDBOX_ID = 64321
"""User and group id of everything in a sandbox started by root."""

_RESERVED = ("/work", "/tmp", "/dev", "/proc")
_SETUP_SECONDS = 30.0
_LONGEST_SECONDS = 1e6
_GRACE_SECONDS = 15.0
# Puts the package on the worker's path without running any __init__ file: they may import what is slow or not there.
_BOOT = """import sys
for name, folder in zip(sys.argv[3:7], sys.argv[7:]):
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [folder]
from redtogreen.execution.sandboxes.namespace.worker import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""


def owner_for_lower() -> int | None:
    """The uid (and gid) a lower tree must be given to before use, or None when it must simply belong to the caller."""
    return SANDBOX_ID if os.geteuid() == 0 else None


def open_sandbox(
    lower: Path,
    *,
    mounts: Sequence[Mount] = (),
    covered: Sequence[str] = (),
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
) -> NamespaceSandbox:
    """Show the immutable directory `lower` copy-on-write at /work of a new sandbox, with `changes` applied.

    covered: absolute paths inside that appear as empty read-only directories; one that does not exist is ignored.
    env: added to the fixed environment of every command.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    limits = limits or Limits()
    changes = changes or {}
    check_changes(changes)
    _check_lower(lower)
    _check_mounts(mounts, covered)
    return NamespaceSandbox(lower, mounts, covered, changes, limits, {**BASE_ENVIRONMENT, **(env or {})})


class NamespaceSandbox:
    """One sandbox. Commands run one at a time; calls from several threads wait for each other.

    `worker_process` and `init_process` are pids on the host; `reasons` says why a guarantee is not enforced.
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
        self._lock = threading.RLock()
        self.worker_process = self.init_process = 0
        self._host = os.getpid()
        self._init: int | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._broken: str | None = None
        self._complaint = ""
        self._groups = cgroups.create(limits.memory, limits.processes + 1)
        try:
            self._start_worker()
            self._channel.set_timeout(_SETUP_SECONDS)
            self._channel.send(("open", self._plan(lower, mounts, covered)))
            _, pid = self._answer("started")
            self.init_process = pid
            self._init = os.pidfd_open(pid)
            self._groups.add(pid)
            self._channel.send(("limits", self._limits()))
            self._answer("ready")
            if changes:
                self.write(changes)
        except BaseException as error:
            self._end()
            if isinstance(error, (Closed, OSError)):
                reason = f"{type(error).__name__}: {error}{self._complaint}"
                raise SandboxError(f"the sandbox's worker did not come up: {reason}") from error
            raise

        self.guarantees, self.reasons = held(
            memory_group=self._groups.memory is not None,
            process_group=self._groups.pids is not None,
            release=os.uname().release,
        )

    def _plan(self, lower: Path, mounts: Sequence[Mount], covered: Sequence[str]) -> dict[str, Any]:
        limits = self.limits
        return {
            "user": owner_for_lower(),
            "lower": os.path.abspath(lower),
            "mounts": sorted(((os.path.abspath(mount.source), mount.target) for mount in mounts), key=_target),
            "covered": list(covered),
            "disk": limits.disk,
            "inodes": limits.inodes,
            "memory": limits.memory,
            "processes": limits.processes,
            "output": limits.output,
            "report": limits.report,
            "cores": os.cpu_count() or 1,
        }

    def _limits(self) -> dict[str, Any]:
        groups = self._groups
        return {
            # beside a pids group only a second bound, so that the group is what counts the refusals; 1 is for init
            "process_rlimit": self.limits.processes + (1 if groups.pids is None else 9),
            "watch_memory": groups.memory is None,
            "watch_processes": groups.pids is None,
        }

    def _start_worker(self) -> None:
        here = Path(__file__).resolve().parent
        folders = [Path(redtogreen.errors.__file__).resolve().parent, here.parents[1], here.parent, here]
        names = __name__.split(".")
        packages = [".".join(names[: count + 1]) for count in range(4)] + [str(folder) for folder in folders]
        self._channel, inside = pair()
        self._complaints = os.memfd_create("worker-stderr")
        environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(inside.fileno()), str(os.getpid())]
        try:
            self._worker = subprocess.Popen(
                command + packages,
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

    def run(
        self,
        argv: list[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        seconds: float | None = None,
        report: bool = False,
        cwd: str = "/work",
    ) -> ProcessResult:
        """Run one command to its end, and the end of everything it started.

        seconds: wall clock, the limit's by default. report: give it a pipe as descriptor 3.
        Raises SandboxError when the sandbox is closed, has died before, or does not answer; UsageError for a command
        that cannot be one.
        """
        seconds = self.limits.seconds if seconds is None else seconds
        environment = {**self.env, **(env or {})}
        if not argv or any("\0" in word for word in (*argv, *environment, *environment.values(), cwd)):
            raise UsageError("a command needs at least one word, and none of its words may hold NUL")
        if not 0 < seconds <= _LONGEST_SECONDS:
            raise UsageError(f"a command cannot run for {seconds} seconds", hint=f"give 0 to {_LONGEST_SECONDS:.0f}")
        request = {
            "argv": list(argv),
            "env": environment,
            "stdin": bytes(stdin),
            "seconds": float(seconds),
            "report": report,
            "cwd": cwd,
        }
        with self._lock:
            self._check_usable()
            before = self._groups.killed_for_memory(), self._groups.refused_forks()
            start = time.monotonic()
            answer = self._ask("run", request, seconds + _GRACE_SECONDS)
            took = time.monotonic() - start
            after = self._groups.killed_for_memory(), self._groups.refused_forks()
        kind, facts, streams = answer
        if kind == "died":
            facts = {"status": facts, "reason": None, "seconds": took}
        return _judge(facts, streams, starved=after[0] > before[0], crowded=after[1] > before[1])

    def changes(self) -> Changes:
        """Every file and link in which the workspace differs from the lower tree. Sets `skipped`."""
        _, found, self.skipped = self._ask("changes", None)
        return {path: FileChange(*change) for path, change in found.items()}

    def write(self, changes: Changes) -> None:
        """Write into the workspace from outside. Raises SandboxError for a path that leads through a link."""
        check_changes(changes)
        self._ask("write", _packed(changes))

    def close(self) -> None:
        """End the sandbox. When this returns nothing of it lives. (A forked copy of the host ends nothing.)"""
        if os.getpid() != self._host:
            return
        with self._lock:
            self._end()
            self._broken = self._broken or "it is closed"

    def __enter__(self) -> NamespaceSandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ask(self, order: str, argument: Any, seconds: float | None = None) -> tuple:
        with self._lock:
            self._check_usable()
            try:
                self._channel.set_timeout(seconds or 10 * _SETUP_SECONDS)
                self._channel.send((order, argument))
                return self._answer(None)
            except SandboxError:
                raise
            except BaseException as error:
                self._broken = f"{type(error).__name__} during {order!r}"
                self._end()
                if isinstance(error, (Closed, OSError)):
                    raise SandboxError(f"the sandbox failed: {self._broken}{self._complaint}") from error
                raise

    def _check_usable(self) -> None:
        if self._broken:
            raise SandboxError(f"the sandbox cannot be used any more: {self._broken}", hint="open a new sandbox")

    def _answer(self, expected: str | None) -> tuple:
        answer, _ = self._channel.receive()
        if answer[0] == "error":
            _, step, number, reason = answer
            code = f"[Errno {number}] " if number else ""
            raise SandboxError(f"the sandbox could not {step}: {code}{reason}", hint=hint(step, number))
        if expected is not None and answer[0] != expected:
            raise SandboxError(f"the sandbox's worker said {answer[0]!r} where {expected!r} was due")
        return answer

    def _end(self) -> None:
        """Close the channel, on which the worker ends; kill what does not follow; wait for the last process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            self._channel.hang_up()
            try:
                worker.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            if self._init is not None:
                self._wait_for_init(self._init)
                os.close(self._init)
                self._init = None
            text = os.pread(self._complaints, 4000, 0).decode("utf-8", "replace").strip()
            self._complaint = f"; its worker said: {text[-2000:]}" if text else ""
            os.close(self._complaints)
        self._groups.remove()

    @staticmethod
    def _wait_for_init(descriptor: int) -> None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(0):  # only when the worker was killed: init follows it by PDEATHSIG
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            poll.poll()


def _target(mount: tuple[str, str]) -> str:
    return mount[1]  # in this order a mount comes before what is mounted inside it


def _check_lower(lower: Path) -> None:
    if not os.path.isdir(lower):
        raise SandboxError(f"the lower tree {lower} is not a directory")
    wanted = os.geteuid() if owner_for_lower() is None else SANDBOX_ID
    owner = os.stat(lower).st_uid
    if owner != wanted:
        raise SandboxError(
            f"the lower tree {lower} belongs to uid {owner}, so commands could not change its files",
            hint=f"give it to uid {wanted} first: chown -R {wanted}:{wanted} {lower}",
        )


def _check_mounts(mounts: Sequence[Mount], covered: Sequence[str]) -> None:
    for mount in mounts:
        if not os.path.exists(mount.source):
            raise SandboxError(f"cannot mount {mount.source}: it does not exist")
        if any(mount.target == path or mount.target.startswith(f"{path}/") for path in _RESERVED):
            raise SandboxError(f"cannot mount {mount.source} at {mount.target}", hint="choose a path such as /env")
    for path in (*covered, *(mount.target for mount in mounts)):
        if not path.startswith("/") or path == "/" or os.path.normpath(path) != path or "\0" in path:
            raise SandboxError(f"{path!r} is not a normal absolute path inside the sandbox")


def _packed(changes: Changes) -> list[tuple[str, str, bytes, bool]]:
    return [(path, change.kind, bytes(change.content), change.executable) for path, change in changes.items()]


def _judge(facts: dict[str, Any], streams: tuple, *, starved: bool, crowded: bool) -> ProcessResult:
    status = facts["status"]
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = None if signalled is not None else os.WEXITSTATUS(status)
    stdout, stderr, report = streams
    verdict: Verdict
    if facts.get("failure"):
        verdict, stderr = "sandbox", _with_note(stderr, facts["failure"])
    elif facts["reason"] is not None:
        verdict = facts["reason"]
    elif starved:
        verdict = "memory"
    elif "strays" not in facts:
        verdict = "sandbox"
    elif crowded or facts["crowded"]:
        verdict = "processes"
    elif facts["full"]:
        verdict = "disk"
    else:
        verdict = "ok" if code == 0 else "failure"
    return ProcessResult(
        exit_code=code,
        signal=signalled,
        stdout=Output(*stdout),
        stderr=Output(*stderr),
        verdict=verdict,
        strays=facts.get("strays", 0),
        seconds=facts["seconds"],
        cpu_seconds=facts.get("cpu_seconds", 0.0),
        report=report,
    )


def _with_note(stream: tuple[bytes, bytes, int], note: str) -> tuple[bytes, bytes, int]:
    head, tail, size = stream
    text = f"the sandbox could not {note}\n".encode()
    return head, tail + text, size + len(text)
