"""Level 1: a fork of the launcher that owns the files of one sandbox, starts its init and moves its output.

It serves its host over a socket and ends, with everything below it, when the host closes that or is gone.
"""

from __future__ import annotations

import os
import select

from . import init, orders, staging, syscalls
from .channel import Channel, Closed, pair
from .output import Pipes
from .serving import Service, report_failures
from .syscalls import SetupFailure

_NAMESPACES = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)


def serve_sandbox(plan: dict, descriptors: list[int], host_process: int) -> None:
    """Build the sandbox of this plan and serve it. Never returns.

    descriptors: the channel to the host, the control groups to join (as many as the plan says), the trees to attach.
    """
    channel, groups = Channel(descriptors[0]), descriptors[1 : 1 + plan["groups"]]
    worker = Worker(channel, (host_process,), plan)
    try:
        report_failures(channel, lambda: worker.serve(groups, descriptors[1 + plan["groups"] :]))
    finally:
        worker.end()
        os._exit(0)


class Worker(Service):
    """One sandbox, from staging to the death of its init."""

    def __init__(self, host: Channel, watched: tuple[int, ...], plan: dict):
        super().__init__(host, watched, plan)
        self.init: Channel | None = None
        self.init_pid = 0
        self.namespaces: list[int] = []
        self.groups: list[int] = []

    def serve(self, groups: list[int], trees: list[int]) -> None:
        staging.stage(self.plan, trees)
        self._start_init(groups)
        self.open_workspace()
        self.take_orders()

    def end(self) -> None:
        """Kill init; the wait returns when the last process of its namespace is gone."""
        if self.init_pid:
            os.kill(self.init_pid, syscalls.SIGKILL)
            os.waitpid(self.init_pid, 0)
            self.init_pid = 0

    def _start_init(self, groups: list[int]) -> None:
        self.init, inside = pair()
        try:
            pid = syscalls.clone(_NAMESPACES)
        except OSError as error:
            raise SetupFailure("create the sandbox's namespaces", error) from error
        if pid == 0:
            try:
                init.run_init(inside, self.plan, groups)
            except Exception as error:
                os.write(2, f"init: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
            finally:
                os._exit(0)
        self.init_pid = pid
        inside.close()
        handle = os.pidfd_open(pid)
        self.host.send(("started",), (handle,))
        os.close(handle)
        message, self.namespaces = self._from_init()
        if message[0] == "error":
            raise SetupFailure(message[1], OSError(message[2], message[3]))
        if message[0] == "died":
            raise SetupFailure("start init", f"it died with wait status {message[1]}")
        _, joined = message
        self.groups = [group for number, group in enumerate(groups) if number in joined]
        init.note_groups(self.plan, joined)
        self.host.send(message)

    def _tell_init(self, order: tuple, descriptors: tuple[int, ...] = ()) -> None:
        assert self.init is not None
        try:  # noqa: SIM105 - contextlib would cost the worker 5 ms
            self.init.send(order, descriptors)
        except Closed:
            pass  # init has died, which the next look for its answer shows

    def _from_init(self) -> tuple[tuple, list[int]]:
        assert self.init is not None
        try:
            return self.init.receive()
        except Closed:
            _, status = os.waitpid(self.init_pid, 0)
            self.init_pid = 0
            return ("died", status), []

    def run(self, request: dict, server: list[int]) -> tuple:
        """server: the way to a warm server that is to start the command, and perhaps what it is to install there.
        Empty: init starts it."""
        if not self.init_pid:
            return ("error", "run a command", 0, "its init has died")
        assert self.init is not None
        pipes = Pipes(self.plan, request)
        request = {name: value for name, value in request.items() if name != "stdin"}
        if server:
            self._order_from(server[0], server[1:], request, pipes)
        else:
            self._tell_init(("run", request), tuple(pipes.inside))
        pipes.close_inside()
        poll = select.poll()
        for descriptor in (self.host.fileno(), *self.watched, self.init.fileno(), *pipes.open):
            poll.register(descriptor, select.POLLIN)
        told = False
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if ready & {self.host.fileno(), *self.watched}:
                raise Closed  # nothing is sent to a worker while a command runs
            if self.init.fileno() in ready:
                break
            for descriptor in ready & pipes.open.keys():
                if not pipes.read(descriptor):
                    poll.unregister(descriptor)
            if pipes.flooded and not told:
                told = True
                self._tell_init(("stop", "output"))
        message, _ = self._from_init()
        pipes.drain()  # nothing that could write is alive any more
        return (*message, pipes.kept())

    def _order_from(self, server: int, prepared: list[int], request: dict, pipes: Pipes) -> None:
        """Let a warm server put the command into this sandbox, and init adopt it."""
        arrival, announce = os.pipe2(os.O_CLOEXEC)
        failure, report_failure = os.pipe2(os.O_CLOEXEC)
        self._tell_init(("adopt", request), (arrival, failure))
        parts = (self.namespaces, self.groups, pipes.inside, [announce, report_failure], prepared)
        orders.order(server, request, self.plan, parts)
        for descriptor in (arrival, announce, failure, report_failure, server, *prepared):
            os.close(descriptor)
