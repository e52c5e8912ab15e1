"""What the workers of all backends share: their start, taking orders, and how what goes wrong reaches the host."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable

from . import staging, syscalls
from .channel import Channel, Closed
from .collector import Collector
from .syscalls import SetupFailure
from .writer import apply


def connect(descriptor: int, host: int) -> tuple[Channel, int]:
    """The channel to the host, and a descriptor of its process. From here on nothing can be imported, codecs included:
    inside, the folders on the path could be others."""
    sys.meta_path.clear()
    sys.path.clear()
    syscalls.default_signals(syscalls.SIGINT)
    os.umask(0o022)
    channel, host_process = Channel(descriptor), os.pidfd_open(host)
    if os.getppid() != host:
        os._exit(0)
    return channel, host_process


def report_failures(host: Channel, work: Callable[[], None]) -> None:
    """Do the work, and tell the host what it failed at. That the host is gone is no failure."""
    try:
        work()
    except Closed:
        pass
    except SetupFailure as failure:
        host.send(("error", failure.step, failure.errno, failure.reason))
    except Exception as error:
        host.send(("error", f"serve: {type(error).__name__}", 0, str(error)))


class Service:
    """The orders of one sandbox, taken until the host, or another of the watched processes, is gone."""

    upper: int
    lower: int
    work: int

    def __init__(self, host: Channel, watched: tuple[int, ...], plan: dict):
        self.host, self.watched, self.plan = host, watched, plan

    def open_workspace(self) -> None:
        """Open the folders that `staging` has made."""
        folders = (f"{staging.ROOM}/upper", staging.LOWER, staging.WORK)
        self.upper, self.lower, self.work = (
            os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for path in folders
        )

    def take_orders(self) -> None:
        """Raises Closed at the end."""
        poll = select.poll()
        for descriptor in (self.host.fileno(), *self.watched):
            poll.register(descriptor, select.POLLIN)
        while True:
            if {descriptor for descriptor, _ in poll.poll()} & set(self.watched):
                raise Closed
            (order, argument), descriptors = self.host.receive()
            if order == "run":
                self.host.send(self.run(argument, descriptors))
            elif order == "changes":
                self.host.send(self.changes())
            elif order == "write":
                self.host.send(self.write(argument))

    def run(self, request: dict, descriptors: list[int]) -> tuple:
        raise NotImplementedError

    def changes(self) -> tuple:
        return ("changes", *Collector(self.upper, self.lower, self.plan["disk"]).collect())

    def write(self, changes: list) -> tuple:
        try:
            apply(self.work, changes)
        except SetupFailure as failure:
            return ("error", failure.step, failure.errno, failure.reason)
        return ("written",)
