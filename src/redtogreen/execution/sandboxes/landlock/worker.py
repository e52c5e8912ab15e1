"""The sandbox's own processes: a guardian that only waits, and below it the worker, which starts commands.

Each watches the other, and whichever is left ends all commands and removes the workspace. Opened by root they stay
root, out of reach of the commands' user; opened by anybody else they cannot be traced, and Landlock keeps them from
being signalled.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import time

from ..namespace import command, serving, syscalls
from ..namespace.channel import Channel, Closed
from ..namespace.collector import Collector
from ..namespace.output import Pipes
from ..namespace.seccomp import Filter
from ..namespace.seccomp import build_filter as common_filter
from ..namespace.syscalls import SetupFailure, step
from . import refusals, room, rules, slots
from .tree import PR_SET_CHILD_SUBREAPER, Tree, threads_of_this_user

WATCH_SECONDS = 0.05
_PATIENCE = 10.0
_DISK_SHARE = 10
"""The workspace is measured again after so many times as long as the last measurement took."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache", "localtime", "protocols", "services")
_FACTS = ("cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems")
_DEVICES = ("null", "zero", "full", "random", "urandom")


def main(descriptor: int, host: int) -> None:
    """Serve the host at the other end of `descriptor` until it hangs up or ends."""
    channel, host_process = serving.connect(descriptor, host)
    try:
        serving.report_failures(channel, lambda: _serve(channel, host_process))
    finally:
        os._exit(0)


def _serve(channel: Channel, host_process: int) -> None:
    (_, plan), _ = channel.receive()
    _narrow_capabilities()
    user, reservation = slots.reserve() if os.geteuid() == 0 else (None, None)
    if user is not None:
        os.setgroups([])
    syscalls.prctl(PR_SET_CHILD_SUBREAPER, 1)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    plan["room"] = f"{plan['folder']}/redtogreen-room-{os.urandom(8).hex()}"
    tree, guardian = Tree(user), os.pidfd_open(os.getpid())
    worker = os.fork()
    if worker:
        channel.close()
        os.waitpid(worker, 0)
        tree.end()
        room.remove(plan["room"])
        os._exit(0)
    assert reservation or user is None  # both hold it until they end
    syscalls.prctl(PR_SET_CHILD_SUBREAPER, 1)
    Worker(channel, (host_process, guardian), plan, tree).serve()


class Worker(serving.Service):
    """One sandbox. `watched` are the processes without which it ends."""

    def __init__(self, host: Channel, watched: tuple[int, ...], plan: dict, tree: Tree):
        super().__init__(host, watched, plan)
        self.tree = tree
        self.version = step("ask for Landlock", rules.version)
        if self.version < rules.OLDEST:
            raise SetupFailure("use Landlock", f"its version {self.version} is older than {rules.OLDEST}")
        self.filters = [step("build the system call filter", Filter, build()) for build in _FILTERS]

    def serve(self) -> None:
        try:
            self._move_in()
            self.host.send(("ready", self.version, self.tree.user is not None, self.plan["room"]))
            self.take_orders()
        finally:
            self.tree.end()
            room.remove(self.plan["room"])

    def _move_in(self) -> None:
        place, lower = self.plan["room"], self.plan["lower"]
        with Acting(self.tree.user):
            for path in self.plan["shown"]:
                if not os.access(path, os.R_OK, effective_ids=True):
                    raise SetupFailure(f"show {path}", "the user that commands run as may not read it")
        step(f"copy the lower tree {lower}", room.furnish, place, lower, self.tree.user)
        folders = (place, f"{place}/work", lower)
        self.room, self.work, self.lower = (
            os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for path in folders
        )
        self.size, self.count = room.measure(self.room)
        self.ended = syscalls.children_descriptor()
        self.processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.rules = step("find what may be read", self._rules)

    def _rules(self) -> list[rules.Rule]:
        covered = [os.path.realpath(path) for path in self.plan["covered"]]
        found = [rule for path in (*_SYSTEM, *self.plan["shown"]) for rule in rules.readable(path, covered)]
        found += [rule for name in _SETTINGS for rule in rules.rule(f"/etc/{name}", rules.READ)]
        found += [rule for name in _FACTS for rule in rules.rule(f"/proc/{name}", rules.READ)]
        found += [rule for name in _DEVICES for rule in rules.rule(f"/dev/{name}", rules.DEVICE)]
        if self.tree.user is not None:  # the terminals of another user are closed to it
            found += [rule for name in ("ptmx", "pts") for rule in rules.rule(f"/dev/{name}", rules.TERMINALS)]
        return found + [
            rule for name in ("work", "tmp") for rule in rules.rule(f"{self.plan['room']}/{name}", rules.WRITE)
        ]

    def run(self, request: dict, descriptors: list[int]) -> tuple:
        return Step(self, request).run()

    def grown(self) -> tuple[int, int]:
        """Bytes and files by which the workspace and /tmp have grown."""
        size, count = room.measure(self.room)
        return size - self.size, count - self.count

    def overfull(self) -> bool:
        size, count = self.grown()
        return size >= self.plan["disk"] or count >= self.plan["inodes"]

    def changes(self) -> tuple:
        try:
            room.open_up(self.work)
            collector = Collector(self.work, self.lower, self.plan["disk"] + self.size)
            collector.hidden(self.work, self.lower, b"")  # a copy shows nothing of the lower tree by itself
            return ("changes", *collector.collect())
        except OSError as error:
            return ("error", "read the workspace", error.errno, error.strerror)

    def write(self, changes: list) -> tuple:
        left = self.plan["disk"] - self.grown()[0]
        for path, _, content, _ in changes:
            left -= len(content)
            if left < 0:
                return ("error", f"write {path}", errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            with Acting(self.tree.user):  # so that what is written belongs to the commands
                room.open_up(self.work)
                return super().write(changes)
        except OSError as error:
            return ("error", "write into the workspace", error.errno, error.strerror)


_FILTERS = (common_filter, refusals.build_filter)


class Acting:
    """For the time of a block the worker has the rights of the commands' user; None: it has no others anyway."""

    def __init__(self, user: int | None):
        self.user = user

    def __enter__(self) -> None:
        if self.user is not None:
            os.setegid(self.user)
            os.seteuid(self.user)

    def __exit__(self, *error: object) -> None:
        if self.user is not None:
            os.seteuid(0)
            os.setegid(0)


class Walls(Filter):
    """The filters and all else that a forked child puts around itself as the last thing before it is the command."""

    def __init__(self, worker: Worker, files: int):
        self.worker, self.files = worker, files

    def install(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.files, self.files))
        user = self.worker.tree.user
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, syscalls.SIGKILL)  # a change of user clears it
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        rules.restrict(self.worker.version, [*self.worker.rules, *rules.rule("/proc/self", rules.READ)])
        for program in self.worker.filters:
            program.install()


class Step:
    """One command, from fork to the death of the last process it left."""

    def __init__(self, worker: Worker, request: dict):
        self.worker, self.plan, self.request, self.tree = worker, worker.plan, request, worker.tree
        self.pipes = Pipes(self.plan, request)
        self.reason: str | None = None
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.crowded = False
        self.killed = 0

    def run(self) -> tuple:
        start = time.monotonic()
        failure, report_failure = os.pipe2(os.O_CLOEXEC)
        if self.tree.user is not None:
            for descriptor in self.pipes.inside[1:]:
                os.fchown(descriptor, self.tree.user, self.tree.user)  # so that /dev/stdout can be opened
        child = os.fork()
        if child == 0:
            self._become_the_command(report_failure)
        os.close(report_failure)
        self.pipes.close_inside()
        self._follow(child, start + self.request["seconds"])
        seconds = time.monotonic() - start
        self._count()
        strays = self._sweep(child)
        said = os.read(failure, 1000)
        os.close(failure)
        self.pipes.drain()  # nothing that could write is alive any more
        facts = {
            "status": self.status,
            "reason": self.reason,
            "strays": strays,
            "seconds": seconds,
            "cpu_seconds": self.cpu_seconds,
            "full": self.worker.overfull(),
            "crowded": self.crowded,
            "failure": said.decode("utf-8", "replace"),
        }
        return ("done", facts, self.pipes.kept())

    def _become_the_command(self, report_failure: int) -> None:
        processes = self.plan["processes"]
        if self.tree.user is None:
            processes += threads_of_this_user()
        plan = {**self.plan, "process_rlimit": processes, "without": ()}
        walls = Walls(self.worker, self.plan["disk"])
        command.become(self.request, plan, self.pipes.inside, report_failure, self.worker.processes, walls)

    def _follow(self, child: int, deadline: float) -> None:
        """Move output until the command has ended (`status`) or a limit ends it (`reason`)."""
        next_look = time.monotonic() + WATCH_SECONDS
        next_measurement = next_look
        host, ended = self.worker.host.fileno(), self.worker.ended
        poll = select.poll()
        for descriptor in (host, *self.worker.watched, ended, *self.pipes.open):
            poll.register(descriptor, select.POLLIN)
        while self.status is None and self.reason is None:
            now = time.monotonic()
            if now >= deadline:
                self.reason = "timeout"
                return
            if now >= next_look:
                next_look = now + WATCH_SECONDS
                if self._count() > self.plan["memory"]:
                    self.reason = "memory"
                elif now >= next_measurement:
                    if self.worker.overfull():
                        self.reason = "disk"
                    took = time.monotonic() - now
                    next_measurement = now + max(WATCH_SECONDS, _DISK_SHARE * took)
            wake = min(deadline, next_look)
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, wake - now) * 1000 + 1)}
            if ready & {host, *self.worker.watched}:
                raise Closed  # nothing is sent to a worker while a command runs
            for descriptor in ready & self.pipes.open.keys():
                if not self.pipes.read(descriptor):
                    poll.unregister(descriptor)
            if self.pipes.flooded:
                self.reason = "output"
            elif ended in ready:
                os.read(ended, 4096)
                self._reap(child)

    def _count(self) -> int:
        memory, threads = self.tree.usage()
        self.crowded |= threads + (self.status is not None) >= self.plan["processes"]
        return memory

    def _sweep(self, child: int) -> int:
        """Kill and reap everything; how many processes were alive beside the command itself."""
        self._reap(child)
        running, self.killed = self.status is None, 0
        deadline = time.monotonic() + _PATIENCE
        while self._reap(child):
            if time.monotonic() > deadline:
                raise SetupFailure("end a command", f"some of its processes lived on for {_PATIENCE:.0f} seconds")
            self.tree.kill()
            time.sleep(0.0002)
        return self.killed - (running and _killed(self.status))

    def _reap(self, child: int) -> bool:
        """Reap what has ended; `killed` counts what SIGKILL ended. Whether a child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.killed += _killed(status)
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            if pid == child:
                self.status = status


def _narrow_capabilities() -> None:
    """Empty the bounding set, as far as this process may: without a right to do so NO_NEW_PRIVS alone must serve."""
    capability = 0
    try:
        while True:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
            capability += 1
    except OSError as error:  # the number behind the last one, or not permitted
        if error.errno not in (errno.EINVAL, errno.EPERM):
            raise


def _killed(status: int | None) -> bool:
    return status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == syscalls.SIGKILL
