"""The sandbox made by Docker or Podman: one container with a trusted init, one `exec` for every command.

The workspace is a copy on a tmpfs of the container, which the host reads and writes below /proc/<init>/root. That
needs root.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError

from ..base import BaseSandbox
from ..contract import Changes, FileChange, Limits, Mount, Preload, ProcessResult, Verdict, check_changes
from ..guarantees import MEANINGS
from ..namespace import syscalls
from ..namespace.hints import hint
from ..namespace.output import Pipes
from ..namespace.syscalls import SetupFailure
from ..namespace.writer import apply
from ..requests import SANDBOX_ID, Facts, Opening, check_opening, decoded_status, judge, packed
from .container import Container
from .engine import Engine, find_engine
from .orphans import label
from .root_folder import as_image, make_root, system_mounts
from .workspace import CopyCollector, give

REASONS = {
    "host_files": "the engine shows /sys, /run and files of its own",
    "host_environment": "the engine gives its init and /dev what it likes",
    "system_read_only": "the engine leaves /proc writable but for /proc/sys",
    "system_calls": "the engine's own filter is used, and addresses are randomised",
    "disk": "/work, /tmp and /dev/shm are limited one by one, and their inodes are not",
    "tree_kill": "the container of a killed host process ends when its input closes, or is removed by redtogreen gc",
    "exit_status": "the engine tells a signal N as exit code 128 + N, so the two cannot be told apart",
}
_SETUP_SECONDS = 60.0
_GRACE_SECONDS = 20.0
_USER = f"{SANDBOX_ID}:{SANDBOX_ID}"
# Children that end vanish, for init inherits what it must ignore; and it ends when its input closes, with its owner.
_INIT = "trap '' CHLD; echo ready; exec cat > /dev/null"
_LAUNCH = 'cd -- "$1" || exit 127; shift; exec env -i "$@"'
_LAUNCH_WITH_REPORT = "exec 3> /run/report/out; " + _LAUNCH


def open_sandbox(
    lower: Path,
    *,
    mounts: Sequence[Mount] = (),
    covered: Sequence[str] = (),
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
    preload: Preload | None = None,
) -> DockerSandbox:
    """Show a copy of the directory `lower` at /work of a new container, with `changes` applied.

    covered: absolute paths inside that appear as empty read-only directories; one that does not exist is ignored.
    env: added to the fixed environment of every command. preload: not used, every command starts cold.
    Raises SandboxError when there is no engine or it cannot start the container; never falls back to less.
    """
    if os.geteuid() != 0:
        raise SandboxError(
            "the docker backend reads the workspace from outside, which only root may",
            hint="use the namespace backend, which needs no root",
        )
    opening = check_opening(lower, mounts, covered, changes, limits, env)
    return DockerSandbox(find_engine(), opening)


class DockerSandbox(BaseSandbox):
    """See `BaseSandbox`. `init_process` is a pid on the host."""

    def __init__(self, engine: Engine, opening: Opening):
        super().__init__(opening)
        self.engine = engine
        self.reasons = dict(REASONS)
        self._container: Container | None = None
        self._lower = os.open(opening.lower, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._root = make_root()
        self._name = self._root.name
        self._client: subprocess.Popen[bytes] | None = None
        try:
            self._start(opening)
            self._copy(opening.lower)
            if opening.changes:
                self.write(opening.changes)
        except BaseException:
            self._end()
            raise
        if self._running.groups.memory is None:
            self.reasons["memory"] = "the container's control group cannot be read: a killed process looks like a crash"
        if self._running.groups.pids is None:
            self.reasons["process_count"] = "the container's control group cannot be read: refused forks go unnoticed"
        self.guarantees = {name: "best effort" if name in self.reasons else "enforced" for name in MEANINGS}

    def _start(self, opening: Opening) -> None:
        limits = self.limits
        size = f"rw,nosuid,nodev,size={limits.disk},mode=1777"
        options = [
            *("--interactive", "--rm", "--name", self._name, "--hostname", "sandbox", *label()),
            *("--network", "none", "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"),
            *("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--ulimit", "core=0:0"),
            *("--memory", str(limits.memory), "--memory-swap", str(limits.memory)),
            *("--pids-limit", str(limits.processes + 1), "--shm-size", str(limits.disk)),
            *("--tmpfs", f"/work:{size}", "--tmpfs", f"/tmp:{size}"),
            *("--tmpfs", f"/run/report:rw,nosuid,nodev,size={limits.report + 2**16},mode=1777"),
            *system_mounts(),
        ]
        for source, target in opening.mounts:
            options += ["--volume", f"{source}:{target}:ro"]
        for path in _existing(opening):
            options += ["--tmpfs", f"{path}:ro,size=4k,mode=0555"]
        if self.engine.name == "podman":
            options.append("--read-only-tmpfs=false")
        words = self.engine.command("run", *options, *as_image(self.engine, self._root), "/bin/sh", "-c", _INIT)
        with open(self._complaints(), "wb") as complaints:
            self._client = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, start_new_session=True
            )
        assert self._client.stdout is not None
        if not select.select([self._client.stdout], [], [], _SETUP_SECONDS)[0] or not self._client.stdout.readline():
            said = self._complaints().read_text(errors="replace").strip().splitlines()[-1:] or ["nothing in time"]
            raise SandboxError(f"{self.engine.name} could not start a container: {said[0]}")
        self.init_process = int(self.engine.ask("inspect", "--format", "{{.State.Pid}}", self._name))
        self._container = Container(self.init_process)

    def _complaints(self) -> Path:
        return self._root.with_suffix(".stderr")

    @property
    def _running(self) -> Container:
        self._check_usable()
        assert self._container is not None
        return self._container

    def _copy(self, lower: str) -> None:
        """Fill the empty workspace, in which nothing has run yet."""
        work = f"/proc/{self.init_process}/root/work"
        try:
            shutil.copytree(lower, work, symlinks=True, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise SandboxError(f"the workspace could not be filled from {lower}: {error}") from error
        for folder, folders, files in os.walk(work):
            for name in (*folders, *files):
                os.chown(f"{folder}/{name}", SANDBOX_ID, SANDBOX_ID, follow_symlinks=False)
        os.chown(work, SANDBOX_ID, SANDBOX_ID)
        os.chmod(work, 0o755)
        for name in ("tmp", "run/report"):  # engines give a tmpfs the mode of the folder below it
            os.chmod(f"/proc/{self.init_process}/root/{name}", 0o1777)

    def _run(self, request: dict[str, Any], warm: Preload | None) -> ProcessResult:
        seconds, report = request["seconds"], request["report"]
        words = ["/bin/sh", "-c", _LAUNCH_WITH_REPORT if report else _LAUNCH, "sh", request["cwd"]]
        words += [f"{name}={value}" for name, value in request["env"].items()] + request["argv"]
        box = self._running
        groups = box.groups
        before = groups.killed_for_memory(), groups.refused_forks()
        cpu, start = box.cpu_seconds(), time.monotonic()
        command = self.engine.command("exec", "--interactive", "--user", _USER, "--workdir", "/", self._name, *words)
        pipes = Pipes({"output": self.limits.output, "report": 0}, {"stdin": request["stdin"], "report": False})
        inside = pipes.inside
        client = subprocess.Popen(command, stdin=inside[0], stdout=inside[1], stderr=inside[2], start_new_session=True)
        pipes.close_inside()
        try:
            reason = self._follow(client, pipes, start + seconds, report)
            if not box.alive:
                self._broken = "its init has died"
            strays = box.sweep() if box.alive else 0
            code = self._wait(client, pipes)
        finally:
            client.kill()
            client.wait()
        pipes.drain()
        stdout, stderr, _ = pipes.kept()
        told = self._report() if report and box.alive else b""
        if len(told) > self.limits.report:
            reason, told = reason or "output", told[: self.limits.report]
        starved, crowded = False, False
        if box.alive:
            starved, crowded = groups.killed_for_memory() > before[0], groups.refused_forks() > before[1]
        exit_code, signal = decoded_status(code)
        if reason is not None:
            exit_code, signal = None, 9
        elif not box.alive:
            exit_code = signal = None
        facts = Facts(
            code=exit_code,
            signal=signal,
            reason=reason,
            failure="" if box.alive else "learn how the command ended: the container's init has died",
            starved=starved,
            crowded=crowded,
            full=box.alive and box.full(),
            strays=strays,
            seconds=time.monotonic() - start,
            cpu_seconds=box.cpu_seconds() - cpu if box.alive else 0.0,
        )
        return judge(facts, stdout, stderr, told)

    def _follow(self, client: subprocess.Popen[bytes], pipes: Pipes, deadline: float, report: bool) -> Verdict | None:
        """Move output until the command has ended; why it is to be ended, or None when it did so itself."""
        ended = os.pidfd_open(client.pid)
        poll = select.poll()
        for descriptor in (ended, self._running.process, *pipes.open):
            poll.register(descriptor, select.POLLIN)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return "timeout"
                ready = {descriptor for descriptor, _ in poll.poll(left * 1000 + 1)}
                for descriptor in ready & pipes.open.keys():
                    if not pipes.read(descriptor):
                        poll.unregister(descriptor)
                if pipes.flooded:
                    return "output"
                if ended in ready or self._running.process in ready:
                    return None
        finally:
            os.close(ended)

    def _wait(self, client: subprocess.Popen[bytes], pipes: Pipes) -> int:
        """The client's status; its output is taken meanwhile, for it may wait for that."""
        deadline = time.monotonic() + _GRACE_SECONDS
        while client.poll() is None and time.monotonic() < deadline:
            for descriptor in select.select(list(pipes.open), [], [], 0.01)[0]:
                pipes.read(descriptor)
        if client.returncode is None:
            raise SandboxError(f"{self.engine.name} exec did not end with its command")
        return client.returncode if client.returncode >= 0 else 128 - client.returncode

    def _report(self) -> bytes:
        folder = os.open(f"/proc/{self.init_process}/root/run/report", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            descriptor = syscalls.open_beneath(folder, "out", os.O_RDONLY | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                content = file.read(self.limits.report + 1)
            os.unlink("out", dir_fd=folder)
            return content
        except OSError:
            return b""  # removed or replaced by the command: then it reported nothing
        finally:
            os.close(folder)

    def changes(self) -> Changes:
        """Every file and link in which the workspace differs from the lower tree. Sets `skipped`."""
        with self._lock:
            if self._container is None:
                self._check_usable()
            assert self._container is not None
            found, self.skipped = CopyCollector(self._container.work, self._lower, self.limits.disk).collect()
        return {path: FileChange(*change) for path, change in found.items()}  # type: ignore[arg-type]

    def write(self, changes: Changes) -> None:
        """Write into the workspace from outside. Raises SandboxError for a path that leads through a link."""
        check_changes(changes)
        with self._lock:
            work = self._running.work
            try:
                apply(work, packed(changes))
            except SetupFailure as failure:
                raise SandboxError(
                    f"the sandbox could not {failure.step}: [Errno {failure.errno}] {failure.reason}",
                    hint=hint(failure.step, failure.errno or 0),
                ) from failure
            for path, change in changes.items():
                if change.kind != "deleted":
                    give(work, path)

    def _end(self) -> None:
        if self._client is None:
            return
        client, self._client = self._client, None
        container, self._container = self._container, None
        try:
            assert client.stdin is not None and client.stdout is not None
            client.stdin.close()
            client.stdout.close()
            try:
                client.wait(0.05)
            except subprocess.TimeoutExpired:
                self.engine.ask("rm", "--force", self._name)
            client.wait(_GRACE_SECONDS)
        finally:
            client.kill()
            client.wait()
            if container is not None:
                container.close()
            os.close(self._lower)
            shutil.rmtree(self._root, ignore_errors=True)
            self._complaints().unlink(missing_ok=True)


def _existing(opening: Opening) -> list[str]:
    """The covered paths that are directories inside. Raises SandboxError for what can not be covered."""
    found = []
    places = [*opening.mounts, ("/usr", "/usr"), ("/etc", "/etc")]
    for path in opening.covered:
        for source, target in sorted(places, key=lambda place: -len(place[1])):
            if path == target or path.startswith(f"{target}/"):
                there = source + path[len(target) :]
                if os.path.isdir(there):
                    found.append(path)
                elif os.path.exists(there):
                    raise SandboxError(f"the sandbox could not cover {path}: only directories can be covered")
                break
    return found
