"""Level 1: an unprivileged process that owns the sandbox's files, starts its init and moves its output.

It serves one host process over a socket and ends, with everything below it, when that process is gone. (Not by
PDEATHSIG: that follows the thread that started the worker, and hosts have threads.)
"""

from __future__ import annotations

import gc
import os
import select
import sys

from . import init, staging, syscalls
from .channel import Channel, Closed, pair
from .collector import Collector
from .output import Pipes
from .syscalls import SetupFailure
from .writer import apply

_NAMESPACES = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)


def main(descriptor: int, host: int) -> None:
    """Serve the host at the other end of `descriptor` until it closes the socket or ends."""
    gc.disable()
    # Nothing may be imported from here on, codecs included: inside, the folders on the path could be others.
    sys.meta_path.clear()
    sys.path.clear()
    syscalls.default_signals(syscalls.SIGINT)
    os.umask(0o022)
    worker = Worker(Channel(descriptor), os.pidfd_open(host))
    if os.getppid() != host:
        os._exit(0)
    try:
        worker.serve()
    except Closed:
        pass
    except SetupFailure as failure:
        worker.answer(("error", failure.step, failure.errno, failure.reason))
    except Exception as error:
        worker.answer(("error", f"worker: {type(error).__name__}", 0, str(error)))
    finally:
        worker.end()
        os._exit(0)


class Worker:
    """One sandbox, from staging to the death of its init."""

    def __init__(self, host: Channel, host_process: int):
        self.host, self.host_process = host, host_process
        self.init: Channel | None = None
        self.init_pid = 0
        self.plan: dict = {}

    def serve(self) -> None:
        _, self.plan = self._next()
        if self.plan["user"] is not None:
            _forbid_protection_from_the_killer()
        staging.stage(self.plan)
        self._start_init()
        self.upper, self.lower, self.work = (
            os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for path in (f"{staging.ROOM}/upper", staging.LOWER, staging.WORK)
        )
        self.answer(("ready",))
        while True:
            order, argument = self._next()
            if order == "run":
                self.answer(self._run(argument))
            elif order == "changes":
                self.answer(("changes", *Collector(self.upper, self.lower, self.plan["disk"]).collect()))
            elif order == "write":
                self._write(argument)

    def answer(self, value: tuple) -> None:
        self.host.send(value)

    def end(self) -> None:
        """Kill init; the wait returns when the last process of its namespace is gone."""
        if self.init_pid:
            os.kill(self.init_pid, syscalls.SIGKILL)
            os.waitpid(self.init_pid, 0)
            self.init_pid = 0

    def _next(self) -> tuple:
        poll = select.poll()
        for descriptor in (self.host.fileno(), self.host_process):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll()}
        if self.host.fileno() not in ready:
            raise Closed
        return self.host.receive()[0]

    def _start_init(self) -> None:
        self.init, inside = pair()
        try:
            pid = syscalls.clone(_NAMESPACES)
        except OSError as error:
            raise SetupFailure("create the sandbox's namespaces", error) from error
        if pid == 0:
            try:
                init.run_init(inside, self.plan)
            finally:
                os._exit(0)
        self.init_pid = pid
        inside.close()
        self.answer(("started", pid))
        message = self._from_init()
        if message[0] == "error":
            raise SetupFailure(message[1], OSError(message[2], message[3]))
        if message[0] == "died":
            raise SetupFailure("start init", f"it died with wait status {message[1]}")
        self._tell_init(self._next())  # ("limits", ...): the host has put init into its control groups

    def _tell_init(self, order: tuple, descriptors: tuple[int, ...] = ()) -> None:
        assert self.init is not None
        try:  # noqa: SIM105 - contextlib would cost the worker 5 ms
            self.init.send(order, descriptors)
        except Closed:
            pass  # init has died, which the next look for its answer shows

    def _from_init(self) -> tuple:
        assert self.init is not None
        try:
            return self.init.receive()[0]
        except Closed:
            _, status = os.waitpid(self.init_pid, 0)
            self.init_pid = 0
            return ("died", status)

    def _run(self, request: dict) -> tuple:
        if not self.init_pid:
            return ("error", "run a command", 0, "its init has died")
        assert self.init is not None
        pipes = Pipes(self.plan, request)
        request = {name: value for name, value in request.items() if name != "stdin"}
        self._tell_init(("run", request), tuple(pipes.inside))
        pipes.close_inside()
        poll = select.poll()
        for descriptor in (self.host.fileno(), self.host_process, self.init.fileno(), *pipes.open):
            poll.register(descriptor, select.POLLIN)
        told = False
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.host.fileno() in ready or self.host_process in ready:
                raise Closed  # nothing is sent to a worker while a command runs
            if self.init.fileno() in ready:
                break
            for descriptor in ready & pipes.open.keys():
                if not pipes.read(descriptor):
                    poll.unregister(descriptor)
            if pipes.flooded and not told:
                told = True
                self._tell_init(("stop", "output"))
        message = self._from_init()
        pipes.drain()  # nothing that could write is alive any more
        return (*message, pipes.kept())

    def _write(self, changes: list) -> None:
        try:
            apply(self.work, changes)
        except SetupFailure as failure:
            self.answer(("error", failure.step, failure.errno, failure.reason))
        else:
            self.answer(("written",))


def _forbid_protection_from_the_killer() -> None:
    """Written by root this is also the floor for all descendants: no command can exempt itself from the OOM killer."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            file.write("0")
    except OSError as error:
        raise SetupFailure("set the floor of oom_score_adj", error) from error
