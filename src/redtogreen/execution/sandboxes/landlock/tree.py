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
        """Bytes of memory and number of threads of all the caller started; memory they share counts once."""
        private = shared = threads = 0
        members = _children(os.getpid())
        for pid in members:
            members += _children(pid)
            facts = _status(pid)
            private += _kilobytes(facts, b"RssAnon")
            shared = max(shared, _kilobytes(facts, b"RssShmem"))
            threads += int(facts.get(b"Threads", b"0"))
        return private + shared, threads

    def kill(self) -> None:
        """End every member; none can start another afterwards. The caller still has to reap them."""
        if self.user is not None:
            self._kill_user()
            return
        for child in _children(os.getpid()):  # theirs become ours, so the next round finds them
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


def _children(pid: int) -> list[int]:
    """Children of a process, by whichever of its threads; none when it has ended."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return found
    return found


def _status(pid: int) -> dict[bytes, bytes]:
    """/proc/<pid>/status; nothing when the process is dead."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            lines = file.read().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    facts = dict(line.split(b":", 1) for line in lines if b":" in line)
    return {} if facts[b"State"].split()[0] in (b"Z", b"X") else facts


def _kilobytes(facts: dict[bytes, bytes], name: bytes) -> int:
    return int(facts.get(name, b"0").split()[0]) * 1024
