"""The sandbox made by bubblewrap: the host's side."""

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
from ..guarantees import held
from ..namespace import cgroups, owner_for_lower
from ..namespace.channel import Closed, pair
from ..namespace.connection import GRACE_SECONDS, SETUP_SECONDS, open_trees
from ..namespace.hints import hint
from ..requests import Facts, check_command, check_lower, check_places, decoded_status, judge, packed
from .program import Program, find_program
from .worker import ATTENDANTS

_SOURCE = Path(__file__).resolve().parents[4]
# Runs no __init__ file on the way: they may import what is slow or, without site-packages, not there.
_BOOT = """import sys
for name in sys.argv[4:]:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [sys.argv[3] + "/" + name.replace(".", "/")]
from redtogreen.execution.sandboxes.bubblewrap.worker import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""
_BESIDE_INIT = 2  # bwrap and its init live in the groups of the command


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
) -> BubblewrapSandbox:
    """Show the immutable directory `lower` copy-on-write at /work of a new sandbox, with `changes` applied.

    covered: absolute paths inside that appear as empty read-only directories; one that does not exist is ignored.
    env: added to the fixed environment of every command. preload: not used, every command starts cold.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    owner = owner_for_lower()
    check_changes(changes or {})
    check_lower(lower, os.geteuid() if owner is None else owner)
    check_places(mounts, covered)
    environment = {**BASE_ENVIRONMENT, **(env or {})}
    return BubblewrapSandbox(find_program(), lower, mounts, covered, changes or {}, limits or Limits(), environment)


class BubblewrapSandbox:
    """One sandbox. Commands run one at a time; calls from several threads wait for each other.

    `worker_process` is a pid on the host; `reasons` says why a guarantee is not enforced.
    """

    def __init__(
        self,
        program: Program,
        lower: Path,
        mounts: Sequence[Mount],
        covered: Sequence[str],
        changes: Changes,
        limits: Limits,
        env: dict[str, str],
    ):
        self.limits, self.env, self.program = limits, env, program
        self.skipped: list[str] = []
        self.preload: Preload | None = None
        self._lock = threading.RLock()
        self._host = os.getpid()
        self._broken: str | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._groups = cgroups.create(limits.memory, limits.processes + _BESIDE_INIT)
        try:
            self._start_worker()
            plan = self._plan(lower, mounts, covered)
            trees = _copied([plan["lower"], *(source for source, _ in plan["mounts"])])
            plan["trees"] = len(trees)
            descriptors = [*trees, *self._groups.entrances()[1]]
            try:
                self._channel.set_timeout(SETUP_SECONDS)
                self._channel.send(("open", plan), tuple(descriptors))
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            _, entered = self._answer()
            self._groups.keep(entered)
            self._probe()
            if changes:
                self.write(changes)
        except BaseException as error:
            self._end()
            if isinstance(error, (Closed, OSError)):
                raise SandboxError(f"the sandbox's worker did not come up: {error!r}{self._complaint}") from error
            raise
        self.guarantees, self.reasons = held(
            memory_group=self._groups.memory is not None,
            process_group=self._groups.pids is not None,
            release=os.uname().release,
        )
        self.guarantees["exit_status"] = "best effort"
        self.reasons["exit_status"] = "bwrap tells a signal N as exit code 128 + N, so the two cannot be told apart"

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
            "argv": list(argv),
            "env": environment,
            "stdin": bytes(stdin),
            "seconds": float(seconds),
            "report": report,
            "cwd": cwd,
            # beside a pids group only a second bound, so that the group is what counts the refusals
            "process_rlimit": self.limits.processes + ATTENDANTS + (0 if self._groups.pids is None else 8),
            "watch_memory": self._groups.memory is None,
            "watch_processes": self._groups.pids is None,
        }
        with self._lock:
            self._check_usable()
            before = self._groups.killed_for_memory(), self._groups.refused_forks()
            _, facts, streams = self._ask("run", request, seconds + GRACE_SECONDS)
            after = self._groups.killed_for_memory(), self._groups.refused_forks()
        code, signal = decoded_status(facts["code"]) if facts["code"] is not None else (None, None)
        if facts["reason"] is not None:
            code, signal = None, 9
        lost = facts["code"] is None and facts["reason"] is None
        starved = after[0] > before[0]
        known = Facts(
            code=code,
            signal=9 if lost and starved else signal,
            reason=facts["reason"],
            failure="learn how the command ended: its init is dead or was never there" if lost else "",
            starved=starved,
            crowded=facts["crowded"] or after[1] > before[1],
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

    def __enter__(self) -> BubblewrapSandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _plan(self, lower: Path, mounts: Sequence[Mount], covered: Sequence[str]) -> dict[str, Any]:
        limits = self.limits
        shown = sorted(((os.path.abspath(mount.source), mount.target) for mount in mounts), key=lambda pair: pair[1])
        return {
            "user": owner_for_lower(),
            "lower": os.path.abspath(lower),
            "mounts": [*shown, (os.fspath(self.program.folder), None)],
            "program": self.program.name,
            "covered": list(covered),
            "disk": limits.disk,
            "inodes": limits.inodes,
            "memory": limits.memory,
            "processes": limits.processes,
            "output": limits.output,
            "report": limits.report,
            "cores": os.cpu_count() or 1,
        }

    def _probe(self) -> None:
        """Nothing has been promised before bwrap has run once."""
        result = self.run(["/bin/sh", "-c", ":"], cwd="/", seconds=SETUP_SECONDS)
        if result.verdict == "sandbox":
            text = result.stderr.text.strip().splitlines()
            raise SandboxError(
                f"bwrap {self.program.version} could not set up a sandbox: {text[0] if text else 'it said nothing'}",
                hint=hint("", 1 if "ermitted" in "".join(text) else 0),
            )

    def _start_worker(self) -> None:
        self._channel, inside = pair()
        self._complaints = os.memfd_create("worker-stderr")
        environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(inside.fileno()), str(os.getpid())]
        names = __name__.split(".")[:-1]
        packages = [".".join(names[: count + 1]) for count in range(len(names))]
        packages.append(cgroups.__name__.rpartition(".")[0])
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
            self._check_usable()
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

    def _check_usable(self) -> None:
        if self._broken:
            raise SandboxError(f"the sandbox cannot be used any more: {self._broken}", hint="open a new sandbox")

    def _answer(self) -> tuple:
        answer, _ = self._channel.receive()
        if answer[0] == "error":
            _, step, number, reason = answer
            code = f"[Errno {number}] " if number else ""
            raise SandboxError(f"the sandbox could not {step}: {code}{reason}", hint=hint(step, number))
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
        self._groups.remove()


def _copied(paths: list[str]) -> list[int]:
    try:
        return open_trees(paths)
    except OSError as error:
        raise SandboxError(
            f"the sandbox could not copy mounts for its namespace: [Errno {error.errno}] {error.strerror}",
            hint=hint("copy mounts", error.errno or 0),
        ) from error
