"""The sandbox's own process: it stages the files, runs bwrap once for every command and moves the output.

The worker is process 1 of a pid namespace of its own, below a process that only waits for it. So the kernel kills all
of bwrap's processes with the worker, whose child they become when bwrap ends: bwrap itself returns before its sandbox
is dead, and need not be told to take it along.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import time

from ..namespace import launcher, serving, staging, syscalls
from ..namespace.census import census
from ..namespace.channel import Channel, Closed
from ..namespace.output import Pipes
from ..namespace.seccomp import build_filter
from ..namespace.syscalls import step
from . import arguments

WATCH_SECONDS = 0.05
ATTENDANTS = 4
"""Processes of the sandbox's user beside a command: the one that waits, the worker, bwrap, and bwrap's init."""
_ARGUMENTS, _FILTER, _STATUS, _FIRST_FREE, _COPIES = 10, 11, 12, 13, 64
_FILES = 4096
_CPU_SLACK = 10


def main(descriptor: int, host: int) -> None:
    """Serve the host at the other end of `descriptor` until it hangs up or ends."""
    channel, host_process = serving.connect(descriptor, host)
    try:
        serving.report_failures(channel, lambda: _serve(channel, host_process))
    finally:
        os._exit(0)


def _serve(channel: Channel, host_process: int) -> None:
    (_, plan), descriptors = channel.receive()
    trees, groups = descriptors[: plan["trees"]], descriptors[plan["trees"] :]
    if plan["user"] is not None:
        launcher.become(plan["user"])
    worker = launcher.enter_namespaces()
    if worker:  # stays behind as the child that the host waits for
        channel.close()
        os.waitpid(worker, 0)
        os._exit(0)
    assert os.getpid() == 1
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, syscalls.SIGKILL)
    step("make mounts private", syscalls.mount, None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    staging.stage(plan, trees)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    step("mount /proc", syscalls.mount, "proc", "/proc", "proc", flags)
    Worker(channel, host_process, plan, groups).serve()


class Worker(serving.Service):
    """One sandbox. `groups` are open cgroup.procs files, which a command enters before it becomes bwrap."""

    def __init__(self, host: Channel, host_process: int, plan: dict, groups: list[int]):
        super().__init__(host, (host_process,), plan)
        self.entered = _enterable(groups)
        self.groups = [groups[number] for number in self.entered]
        arguments.write_etc()
        self.options = arguments.base(plan)
        folder = staging.mount_point(len(plan["mounts"]) - 1)
        self.program = f"{folder}/{plan['program']}"
        self.filter = build_filter()
        self.open_workspace()

    def serve(self) -> None:
        self.host.send(("ready", self.entered))
        self.take_orders()

    def run(self, request: dict, descriptors: list[int]) -> tuple:
        return Step(self, request).run()


class Step:
    """One command: from the start of bwrap to the death of the last process it left."""

    def __init__(self, worker: Worker, request: dict):
        self.worker, self.plan, self.request = worker, worker.plan, request
        self.pipes = Pipes(self.plan, request)
        self.code: int | None = None
        self.reason: str | None = None
        self.init = 0
        self.init_process: int | None = None
        self.inside: int | None = None
        self.crowded = False
        self.said = b""

    def run(self) -> tuple:
        start = time.monotonic()
        said, says = os.pipe2(os.O_CLOEXEC)
        bwrap = os.fork()
        if bwrap == 0:
            try:
                self._become_bwrap(says)
            except BaseException as error:
                os.write(2, f"cannot start bwrap: {type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(125)
        os.close(says)
        self.pipes.close_inside()
        self._follow(said, start + self.request["seconds"])
        strays, cpu_seconds = self._sweep(bwrap)
        os.close(said)
        self.pipes.drain()  # nothing that could write is alive any more
        space = os.statvfs(staging.ROOM)
        facts = {
            "code": self.code,
            "reason": self.reason,
            "strays": strays,
            "seconds": time.monotonic() - start,
            "cpu_seconds": cpu_seconds,
            "full": space.f_bavail < 1 or space.f_favail < 1,
            "crowded": self.crowded,
        }
        return ("done", facts, self.pipes.kept())

    def _become_bwrap(self, says: int) -> None:
        for group in self.worker.groups:
            os.write(group, b"0")
        os.setsid()
        options = list(self.worker.options)
        for name, value in self.request["env"].items():
            options += ["--setenv", name, value]
        options += ["--seccomp", str(_FILTER), "--json-status-fd", str(_STATUS)]
        contents = [_memory(b"".join(os.fsencode(option) + b"\0" for option in options)), _memory(self.worker.filter)]
        targets = dict(enumerate(self.pipes.inside))
        targets.update(zip((_ARGUMENTS, _FILTER, _STATUS), (*contents, says), strict=True))
        copies = {number: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, _COPIES) for number, source in targets.items()}
        for number, copy in copies.items():
            os.dup2(copy, number)
        for number in range(len(self.pipes.inside), _ARGUMENTS):
            os.set_inheritable(number, False)
        syscalls.close_from(_FIRST_FREE, on_exec=True)
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            file.write("1000")
        limits = (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, _FILES),
            (resource.RLIMIT_NPROC, self.request["process_rlimit"]),
            (resource.RLIMIT_CPU, int(self.request["seconds"] * self.plan["cores"]) + _CPU_SLACK),
        )
        for kind, value in limits:
            hard = resource.getrlimit(kind)[1]
            bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (bound, bound))
        syscalls.disable_address_randomisation()
        syscalls.default_every_signal()
        words = ["bwrap", "--args", str(_ARGUMENTS), "--", *arguments.words(self.request)]
        os.execve(self.worker.program, words, {})

    def _follow(self, said: int, deadline: float) -> None:
        """Move output until the command has ended, or a limit ends it. Leaves `code` or `reason` behind, or neither."""
        watching = self.request["watch_memory"] or self.request["watch_processes"]
        next_look = time.monotonic() + WATCH_SECONDS
        gone = {self.worker.host.fileno(), *self.worker.watched}
        poll = select.poll()
        for descriptor in (*gone, said, *self.pipes.open):
            poll.register(descriptor, select.POLLIN)
        while True:
            now = time.monotonic()
            if now >= deadline:
                self.reason = "timeout"
                return
            if watching and now >= next_look:
                next_look = now + WATCH_SECONDS
                if self._count() > self.plan["memory"] and self.request["watch_memory"]:
                    self.reason = "memory"
                    return
            wake = min(deadline, next_look) if watching else deadline
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, wake - now) * 1000 + 1)}
            if ready & gone:
                raise Closed  # nothing is sent to a worker while a command runs
            for descriptor in ready & self.pipes.open.keys():
                if not self.pipes.read(descriptor):
                    poll.unregister(descriptor)
            if said in ready:
                met = self.init_process is not None
                if not self._listen(said) or self.code is not None:
                    return
                if self.init_process is not None and not met:
                    poll.register(self.init_process, select.POLLIN)
            if self.pipes.flooded:
                self.reason = "output"
                return
            if self.init_process in ready:
                while self._listen(said):  # bwrap sees it too, says its last word and ends
                    pass
                return

    def _listen(self, said: int) -> bool:
        """Read a piece of bwrap's status, of which `code` is the last; False when bwrap has ended."""
        piece = os.read(said, 4096)
        self.said += piece
        for line in self.said.split(b"\n")[:-1]:
            facts = json.loads(line)
            if "child-pid" in facts and self.init_process is None:
                self._meet(facts["child-pid"])
            self.code = facts.get("exit-code", self.code)
        return bool(piece)

    def _meet(self, init: int) -> None:
        try:
            self.init_process = os.pidfd_open(init)
            self.init = init
        except ProcessLookupError:
            return  # it has ended already, and bwrap waits for it

    def _processes(self) -> int | None:
        """A descriptor of the /proc inside, once bwrap has mounted it."""
        if self.inside is None and self.init:
            try:
                self.inside = os.open(f"/proc/{self.init}/root/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                if not os.path.exists(f"/proc/self/fd/{self.inside}/1"):
                    os.close(self.inside)
                    self.inside = None
            except OSError:
                return None
        return self.inside

    def _count(self) -> int:
        processes = self._processes()
        if processes is None:
            return 0
        memory, threads = census(processes)
        self.crowded |= self.request["watch_processes"] and threads + (self.code is not None) >= self.plan["processes"]
        space = os.statvfs(staging.ROOM)
        return memory + (space.f_blocks - space.f_bfree) * space.f_frsize

    def _sweep(self, bwrap: int) -> tuple[int, float]:
        """Kill and reap everything. (Processes the command left, processor seconds of all.)"""
        if self.code is None:
            os.kill(bwrap, syscalls.SIGKILL)  # else it ends by itself
        _, _, usage = os.wait4(bwrap, 0)
        seconds = usage.ru_utime + usage.ru_stime
        if self.request["watch_processes"]:
            self._count()
        strays = self._strays()
        for descriptor in (self.init_process, self.inside):
            if descriptor is not None:
                os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, syscalls.SIGKILL)  # as process 1: all of this sandbox, and nothing else
        orderly = False
        while True:
            try:
                pid, _, usage = os.wait4(-1, 0)
            except ChildProcessError:
                break
            orderly |= pid == self.init
            seconds += usage.ru_utime + usage.ru_stime
        if not orderly:
            self.code = None  # bwrap waits for its init only when that died before it could say the status
        return strays, seconds

    def _strays(self) -> int:
        """Processes alive inside beside init and, while it runs, the command."""
        processes = self._processes()
        own = ("1",) if self.code is not None else ("1", "2")
        if processes is None:
            return 0
        names = [name for name in os.listdir(processes) if name.isdigit() and name not in own]
        return sum(_alive(processes, name) for name in names)


def _enterable(groups: list[int]) -> list[int]:
    """Numbers of the groups that a process of this user may put itself into."""
    heard, tells = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        for number, group in enumerate(groups):
            with contextlib.suppress(OSError):
                os.write(group, b"0")
                os.write(tells, bytes([number]))
        os._exit(0)
    os.close(tells)
    os.waitpid(child, 0)
    numbers = list(os.read(heard, 64))
    os.close(heard)
    return numbers


def _alive(processes: int, name: str) -> bool:
    try:
        descriptor = os.open(f"{name}/stat", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    except (FileNotFoundError, ProcessLookupError):
        return False
    try:
        return os.read(descriptor, 4096).rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def _memory(content: bytes) -> int:
    descriptor = os.memfd_create("bwrap", os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
