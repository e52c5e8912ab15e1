"""Process 1 of the sandbox: trusted, untraceable, and the only source of a command's status.

Every command runs as a fresh child; when it has ended (or its time is up) everything left alive is killed and reaped,
so that no process outlives a step.
"""

from __future__ import annotations

import os
import select
import time

from . import command, orders, syscalls
from .census import census
from .channel import Channel, Closed
from .root_filesystem import build_root
from .seccomp import Filter, build_filter
from .syscalls import SetupFailure

USER = 1000
_CHANNEL = 10
_WATCH_SECONDS = 0.05
_ARRIVAL_SECONDS = 10.0


class Prepared:
    """What is worked out once, before the forks: the system call filter, and where the command line lies."""

    rules: Filter
    command_line: tuple[int, int]


def prepare() -> None:
    """Called in the launcher. Raises SetupFailure on a processor without a table of system calls."""
    Prepared.rules = Filter(syscalls.step("build the system call filter", build_filter))
    Prepared.command_line = syscalls.step("find its command line", syscalls.command_line)


def run_init(channel: Channel, plan: dict, groups: list[int]) -> None:
    """Build the sandbox from inside, say "ready", and run commands until the worker is gone. Returns only to end.

    groups: descriptors of the task files of the control groups to join.
    """
    joined = [number for number, group in enumerate(groups) if _join(group)]
    try:
        channel, processes, namespaces = _enter(channel, plan)
    except SetupFailure as failure:
        channel.send(("error", failure.step, failure.errno, failure.reason))
        return
    channel.send(("ready", joined), tuple(namespaces))
    for namespace in namespaces:
        os.close(namespace)
    note_groups(plan, joined)
    room = os.open("/tmp", os.O_PATH | os.O_CLOEXEC)
    ended = syscalls.children_descriptor()
    try:
        while True:
            (order, request), descriptors = channel.receive()
            if order != "stop":  # one that came too late is of no interest
                channel.send(_Step(plan, channel, ended, processes, room).run(order, request, descriptors))
    except Closed:
        return


def note_groups(plan: dict, joined: list[int]) -> None:
    """Add to the plan what follows from the groups that were joined."""
    counted = {name for number in joined for name in plan["group_names"][number]}
    plan["watch_memory"], plan["watch_processes"] = "memory" not in counted, "pids" not in counted
    # Beside a pids group only a second bound, so that the group is what counts the refusals; 1 is for init.
    plan["process_rlimit"] = plan["processes"] + (1 if plan["watch_processes"] else 9)


def _join(group: int) -> bool:
    """Put this process into a group. Writing "0" of itself the kernel needs no lock over all processes."""
    try:
        os.write(group, b"0")
    except OSError:  # version 2, delegated to somebody else: the host gives the group up
        return False
    return True


def _enter(channel: Channel, plan: dict) -> tuple[Channel, int, list[int]]:
    step = "tie init to its worker"
    try:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, syscalls.SIGKILL)
        syscalls.default_signals(syscalls.SIGINT)  # init ignores what has no handler
        os.dup2(channel.fileno(), _CHANNEL, inheritable=False)
        if channel.fileno() != _CHANNEL:
            channel.close()
            channel = Channel(_CHANNEL)
        os.dup2(0, 3, inheritable=False)  # so that no descriptor of init ever is the report channel's number
        os.closerange(4, _CHANNEL)
        syscalls.close_from(_CHANNEL + 1)
        step = "map the sandbox's user"
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else the map belongs to root
        syscalls.map_user(USER, 0, 0)
        namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in orders.NAMESPACES]
        os.setsid()
        processes = build_root(plan)
        step = "bring up the loopback interface"
        syscalls.loopback_up()
        step = "set the host name"
        syscalls.set_host_name(b"sandbox")
        step = "drop capabilities"
        syscalls.drop_capabilities()
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        syscalls.show_as(b"init", Prepared.command_line)
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, syscalls.SIGKILL)
        return channel, processes, namespaces
    except OSError as error:
        raise SetupFailure(step, error) from error


class _Step:
    """One command, from fork to the death of the last process it left."""

    def __init__(self, plan: dict, channel: Channel, ended: int, processes: int, room: int):
        self.plan, self.channel, self.ended, self.processes = plan, channel, ended, processes
        self.room = room
        self.reason: str | None = None
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.crowded = False

    def run(self, order: str, request: dict, descriptors: list[int]) -> tuple:
        """("done", facts) for the worker; facts["failure"] is set when the command could not be set up."""
        start = time.monotonic()
        deadline = start + request["seconds"]
        child, failure = self._fork(request, descriptors) if order == "run" else self._adopt(descriptors)
        if child:
            self._wait(child, deadline)
        seconds = time.monotonic() - start
        if self.plan["watch_processes"]:
            self._count()
        strays = self._sweep(child)
        said = os.read(failure, 1000)
        os.close(failure)
        space = os.statvfs(self.room)
        return (
            "done",
            {
                "status": self.status,
                "reason": self.reason,
                "strays": strays,
                "seconds": seconds,
                "cpu_seconds": self.cpu_seconds,
                "full": space.f_bavail < 1 or space.f_favail < 1,
                "crowded": self.crowded,
                "failure": said.decode("utf-8", "replace"),
                "started": bool(child),
            },
        )

    def _fork(self, request: dict, descriptors: list[int]) -> tuple[int, int]:
        """The command as a child of ours, and where it says why it could not be set up."""
        failure, report_failure = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            command.become(request, self.plan, descriptors, report_failure, self.processes, Prepared.rules)
        for descriptor in (*descriptors, report_failure):
            os.close(descriptor)
        return child, failure

    def _adopt(self, descriptors: list[int]) -> tuple[int, int]:
        """As `_fork`, for a command that a warm server puts here: its parent ends at once, which makes it our child.
        0 instead of a child when none came."""
        arrival, failure = descriptors
        poll = select.poll()
        poll.register(arrival, select.POLLIN)
        ready = poll.poll(_ARRIVAL_SECONDS * 1000)  # however little time it has: that is no fault of the server
        child = os.read(arrival, 20) if ready else b""
        os.close(arrival)
        return int(child or 0), failure

    def _wait(self, child: int, deadline: float) -> None:
        watching = self.plan["watch_memory"] or self.plan["watch_processes"]
        next_look = time.monotonic() + _WATCH_SECONDS
        poll = select.poll()
        poll.register(self.ended, select.POLLIN)
        poll.register(self.channel.fileno(), select.POLLIN)
        while True:
            now = time.monotonic()
            if now >= deadline:
                self.reason = "timeout"
                return
            if watching and now >= next_look:
                next_look = now + _WATCH_SECONDS
                used = self._count()
                if self.plan["watch_memory"] and used > self.plan["memory"]:
                    self.reason = "memory"
                    return
            wake = min(deadline, next_look) if watching else deadline
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, wake - now) * 1000 + 1)}
            if self.channel.fileno() in ready:
                (_, self.reason), _ = self.channel.receive()  # the worker says why to stop, or is gone
                return
            if self.ended in ready:
                os.read(self.ended, 4096)
                self._reap(child, os.WNOHANG)
                if self.status is not None:
                    return

    def _count(self) -> int:
        memory, threads = census(self.processes)
        if threads + (self.status is not None) >= self.plan["processes"]:  # the command itself counts when it has ended
            self.crowded = True
        space = os.statvfs(self.room)
        return memory + (space.f_blocks - space.f_bfree) * space.f_frsize

    def _sweep(self, child: int) -> int:
        """Kill and reap everything; how many processes were alive beside the command itself."""
        self._reap(child, os.WNOHANG)
        running = self.status is None
        try:
            os.kill(-1, syscalls.SIGKILL)
        except ProcessLookupError:
            return 0
        return self._reap(child, 0) - (running and _killed(self.status))

    def _reap(self, child: int, options: int) -> int:
        """Number of reaped processes that SIGKILL ended; the others had ended before and were only never waited for."""
        killed = 0
        while True:
            try:
                pid, status, usage = os.wait4(-1, options)
            except ChildProcessError:
                return killed
            if pid == 0:
                return killed
            killed += _killed(status)
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            if pid == child:
                self.status = status


def _killed(status: int | None) -> bool:
    return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == syscalls.SIGKILL
