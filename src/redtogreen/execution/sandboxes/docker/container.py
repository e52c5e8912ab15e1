"""One running container, seen from the host: its processes, its counters, its workspace."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

from redtogreen.errors import SandboxError

from ..namespace import cgroups
from ..requests import SANDBOX_ID

# Kills every process of the sandbox's user in the container, at once, whatever it forks; init belongs to root. Checked
# twice: in the host's own process namespace the same call would reach everything of that user.
_SWEEP = """
import ctypes, os, sys
space, user = int(sys.argv[1]), int(sys.argv[2])
host = os.stat("/proc/self/ns/pid").st_ino
if os.fstat(space).st_ino == host:
    sys.exit("the container shares the process namespace of the host")
if ctypes.CDLL(None, use_errno=True).setns(space, 0x20000000):
    sys.exit(os.strerror(ctypes.get_errno()))
child = os.fork()
if child == 0:
    if os.stat("/proc/self/ns/pid").st_ino != os.fstat(space).st_ino:
        os._exit(1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    try:
        os.kill(-1, 9)
    except ProcessLookupError:
        pass
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Container:
    """What the host knows of a container from the pid of its init. Needs root."""

    def __init__(self, init: int):
        self.init = init
        self.process = os.pidfd_open(init)
        self.space = os.open(f"/proc/{init}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.work = os.open(f"/proc/{init}/root/work", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        found = _groups(init)
        self.groups = cgroups.Groups(found.get("memory"), found.get("pids"))
        self._cpu = found.get("cpuacct") or found.get("cpu")

    @property
    def alive(self) -> bool:
        poll = select.poll()
        poll.register(self.process, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        for descriptor in (self.process, self.space, self.work):
            os.close(descriptor)

    def members(self) -> dict[int, int]:
        """Pid -> parent of the processes inside that still run, init left out."""
        wanted = os.fstat(self.space).st_ino
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != self.init:
                try:
                    if os.stat(f"/proc/{name}/ns/pid").st_ino == wanted:
                        state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
                        if state not in "ZX":
                            found[int(name)] = int(parent)
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    continue
        return found

    def sweep(self) -> int:
        """End everything but init; returns, when it is gone, how many processes had been left behind.

        A process whose parent lies outside is the command itself.
        """
        members = self.members()
        strays = sum(parent == self.init or parent in members for parent in members.values())
        command = [sys.executable, "-I", "-S", "-c", _SWEEP, str(self.space), str(SANDBOX_ID)]
        deadline = time.monotonic() + 10
        while self.alive and self.members():
            done = subprocess.run(command, pass_fds=(self.space,), capture_output=True, text=True, check=False)
            if done.returncode or time.monotonic() > deadline:
                raise SandboxError(f"what a command left cannot be ended: {done.stderr.strip() or 'it stays alive'}")
        return strays

    def cpu_seconds(self) -> float:
        """Processor time of everything that ever ran inside; 0 where the kernel does not tell."""
        if self._cpu is None or not self._cpu.path.exists():
            return 0.0
        if self._cpu.version == 1:
            return int((self._cpu.path / "cpuacct.usage").read_text()) / 1e9
        return self._cpu.event("cpu.stat", "usage_usec") / 1e6

    def full(self) -> bool:
        """Whether a place where files may lie has no block or inode left."""
        for name in ("work", "tmp", "dev/shm"):
            space = os.statvfs(f"/proc/{self.init}/root/{name}")
            if space.f_bavail < 1 or (space.f_files and space.f_favail < 1):
                return True
        return False


def _groups(pid: int) -> dict[str, cgroups.Group]:
    """Controller -> control group of a process, as this process can reach it."""
    mounts: dict[str, tuple[str, Path]] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        _, _, _, root, target, *_ = fields.split(" ")
        if kind == "cgroup":
            mounts.update({name: (root, Path(target)) for name in options.split(",")})
        elif kind == "cgroup2":
            mounts[""] = (root, Path(target))
    found = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in mounts:
                top, folder = mounts[name]
                directory = folder / os.path.relpath(path, top)
                if name:
                    found[name] = cgroups.Group(directory, 1)
                elif (directory / "memory.events").exists():
                    found.update({each: cgroups.Group(directory, 2) for each in ("memory", "pids", "cpu")})
    return found
