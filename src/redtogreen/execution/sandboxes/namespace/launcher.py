"""Level 0: one small process per host process, from which the workers of all its sandboxes are forked.

It lives in a user and a process namespace of its own, where it is process 1: when it ends, for whatever reason, the
kernel ends every worker, sandbox and warm server below it. It never runs foreign code and never waits for a worker.
"""

from __future__ import annotations

import gc
import os
import select

from . import init, root_filesystem, serving, syscalls
from .channel import Channel
from .syscalls import SetupFailure, step
from .warm_process import become_server
from .worker import serve_sandbox

_ERRORS = 2


def main(descriptor: int, host: int, user: int) -> None:
    """Fork what the host at the other end of `descriptor` orders until that closes or the host ends.

    user: uid and gid to become first, or -1 to stay the host's user.
    """
    gc.disable()
    channel, host_process = serving.connect(descriptor, host)
    try:
        serving.report_failures(channel, lambda: _serve(channel, host_process, user))
    finally:
        os._exit(0)


def _serve(channel: Channel, host_process: int, user: int) -> None:
    if user >= 0:
        _forbid_protection_from_the_killer()
        become(user)
    launcher = enter_namespaces()
    if launcher:  # stays behind as the child that the host waits for
        channel.close()
        os.close(host_process)
        os.waitpid(launcher, 0)
        os._exit(0)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, syscalls.SIGKILL)
    step("make mounts private", syscalls.mount, None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    root_filesystem.prepare()
    init.prepare()
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)  # servers run foreign code under the same user
    channel.send(("ready",))
    Launcher(channel, host_process).serve()


class Launcher:
    """Takes orders and reaps."""

    def __init__(self, host: Channel, host_process: int):
        self.host, self.host_process = host, host_process
        self.ended = syscalls.children_descriptor()

    def serve(self) -> None:
        poll = select.poll()
        for descriptor in (self.host.fileno(), self.host_process, self.ended):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.ended in ready:
                os.read(self.ended, 4096)
                _reap()
            if self.host_process in ready:
                return
            if self.host.fileno() in ready:
                (kind, plan), descriptors = self.host.receive()
                self._fork(kind, plan, descriptors)

    def _fork(self, kind: str, plan: dict, descriptors: list[int]) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            answer: tuple = ("error", "fork a worker", error.errno, error.strerror)
            handles: tuple[int, ...] = ()
        else:
            if pid == 0:
                self._begin(kind, plan, descriptors)
            handles = (os.pidfd_open(pid),)
            answer = ("forked",)
        self.host.send(answer, handles)
        for descriptor in (*handles, *descriptors):
            os.close(descriptor)

    def _begin(self, kind: str, plan: dict, descriptors: list[int]) -> None:
        try:
            self.host.close()
            os.close(self.ended)
            syscalls.unblock_signals()
            if kind == "sandbox":
                serve_sandbox(plan, descriptors, self.host_process)
            else:
                become_server(plan, descriptors)
        except BaseException as error:
            os.write(_ERRORS, f"{kind}: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
        finally:
            os._exit(70)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def become(user: int) -> None:
    """Give up root for this uid and gid. Raises SetupFailure."""
    step("drop supplementary groups", os.setgroups, [])
    step(f"become group {user}", os.setresgid, user, user, user)
    step(f"become user {user}", os.setresuid, user, user, user)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # the id maps below /proc/self belong to root otherwise


def enter_namespaces() -> int:
    """0 in the launcher proper, its pid in the process that stays behind."""
    user, group = os.geteuid(), os.getegid()
    spaces = syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID
    step("create a user namespace", syscalls.unshare, spaces)
    step("map a user into its namespace", syscalls.map_user, 0, user, group)
    return step("fork the launcher", os.fork)


def _forbid_protection_from_the_killer() -> None:
    """Written by root this is also the floor for all descendants: no command can exempt itself from the OOM killer."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            file.write("0")
    except OSError as error:
        raise SetupFailure("set the floor of oom_score_adj", error) from error
