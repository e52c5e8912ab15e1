"""The processes of one sandbox: who they are, what they use, and how all of them are ended.

Whoever calls is a subreaper, so that every process whose parent ends becomes a child of the caller.
"""

from __future__ import annotations

import os
import resource
import time

from ..namespace import syscalls
from ..namespace.syscalls import SetupFailure

PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 10.0
"""Seconds after which sweeping is given up."""


class Tree:
    """user: the uid that runs nothing but this sandbox; None: it runs as the caller's own user."""

    def __init__(self, user: int | None):
        self.user = user

    def usage(self) -> tuple[int, int]:
        """Bytes of memory and number of threads of all members; memory they share counts once."""
        private = shared = threads = 0
        for facts in self._members():
            private += _kilobytes(facts, b"RssAnon")
            shared = max(shared, _kilobytes(facts, b"RssShmem"))
            threads += int(facts[b"Threads"])
        return private + shared, threads

    def kill(self) -> None:
        """End every member; none can start another afterwards. The caller still has to reap them."""
        if self.user is not None:
            self._kill_user()
            return
        for child in _children():  # theirs become ours, so the next round finds them
            try:  # noqa: SIM105 - contextlib would cost the worker 5 ms
                resource.prlimit(child, resource.RLIMIT_NPROC, (0, 0))
            except (ProcessLookupError, PermissionError):
                pass  # it has ended already
            os.kill(child, syscalls.SIGKILL)  # not reaped yet, so the number is still its own

    def end(self) -> None:
        """Kill and reap until the caller has no child left. Raises SetupFailure when that takes too long."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            self.kill()
            if not reap_all():
                return
        raise SetupFailure("end all processes", f"some were still alive after {_PATIENCE:.0f} seconds")

    def _kill_user(self) -> None:
        assert self.user
        helper = os.fork()
        if helper == 0:
            try:
                os.setgroups([])
                os.setresgid(self.user, self.user, self.user)
                os.setresuid(self.user, self.user, self.user)
                if os.getresuid() == (self.user,) * 3:
                    os.kill(-1, syscalls.SIGKILL)  # every process of this user but the caller, at once
            finally:
                os._exit(0)
        os.waitpid(helper, 0)

    def _members(self) -> list[dict[bytes, bytes]]:
        """/proc/<pid>/status of each."""
        processes: dict[int, dict[bytes, bytes]] = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/status", "rb") as file:
                    lines = file.read().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue
            facts = dict(line.split(b":", 1) for line in lines if b":" in line)
            if facts[b"State"].split()[0] not in (b"Z", b"X"):
                processes[int(name)] = facts
        if self.user is not None:
            return [facts for facts in processes.values() if int(facts[b"Uid"].split()[0]) == self.user]
        found = [os.getpid()]
        for pid in found:
            found += [other for other, facts in processes.items() if int(facts[b"PPid"]) == pid]
        return [processes[pid] for pid in found[1:]]


def threads_of_this_user() -> int:
    """Threads that the kernel counts against this user's limit already."""
    user, total = os.getuid(), 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == user:
                total += len(os.listdir(f"/proc/{name}/task"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


def reap_all() -> bool:
    """Reap what has ended; for a moment wait for what has not. Whether there is a child left."""
    for _ in range(50):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        time.sleep(0.0005)
    return True


def _children() -> list[int]:
    own = os.getpid()
    with open(f"/proc/{own}/task/{own}/children", "rb") as file:
        return [int(word) for word in file.read().split()]


def _kilobytes(facts: dict[bytes, bytes], name: bytes) -> int:
    return int(facts.get(name, b"0").split()[0]) * 1024
