"""Control groups for memory and number of processes, version 1 or 2, where this process may create them.

A group is named after its owner's lease, `redtogreen-<lease>-<number>`, so that later sandboxes can remove the empty
groups of an owner that was killed.
"""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..leases import is_orphan, lease

_PREFIX = "redtogreen"
_FILES = {
    ("memory", 1): ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    ("memory", 2): ("memory.max", "memory.swap.max"),
    ("pids", 1): ("pids.max",),
    ("pids", 2): ("pids.max",),
}
_counter = itertools.count()
_busy: set[Group] = set()
_SWEEP_SECONDS = 2.0
_swept = -_SWEEP_SECONDS - 1


@dataclass(frozen=True)
class Group:
    """One directory of one hierarchy."""

    path: Path
    version: int

    def entrance(self) -> int:
        """A descriptor through which a process puts itself into the group by writing "0"."""
        name = "tasks" if self.version == 1 else "cgroup.procs"
        return os.open(self.path / name, os.O_WRONLY | os.O_CLOEXEC)

    def remove(self, pauses: tuple[float, ...] = (0, 0.001, 0.005, 0.02, 0.1, 0.5)) -> None:
        """Remove the group once its last process is gone; the kernel may need a moment to notice."""
        for pause in pauses:
            time.sleep(pause)
            try:
                self.path.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                continue
        _busy.add(self)  # tried again when the next sandbox is opened

    def event(self, file: str, key: str) -> int:
        """A counter such as `oom_kill`; 0 where the kernel does not report it."""
        for line in (self.path / file).read_text().splitlines():
            name, _, value = line.strip().partition(" ")
            if name == key:
                return int(value)
        return 0


class Groups:
    """The groups of one sandbox. Either may be missing."""

    def __init__(self, memory: Group | None, pids: Group | None):
        self.memory, self.pids = memory, pids

    def entrances(self) -> tuple[list[list[str]], list[int]]:
        """Per directory the controllers it stands for, and a descriptor to enter it by."""
        names = [[name for name, group in self._named() if group.path == one.path] for one in self._all()]
        return names, [group.entrance() for group in self._all()]

    def keep(self, entered: list[int]) -> None:
        """Give up what could not be entered (version 2, delegated to somebody else)."""
        for number, group in enumerate(self._all()):
            if number not in entered:
                group.remove()
                self.memory = None if self.memory and self.memory.path == group.path else self.memory
                self.pids = None if self.pids and self.pids.path == group.path else self.pids

    def remove(self) -> None:
        for group in self._all():
            group.remove()

    def killed_for_memory(self) -> int:
        """Processes the kernel has killed because memory ran out."""
        if self.memory is None:
            return 0
        return self.memory.event("memory.oom_control" if self.memory.version == 1 else "memory.events", "oom_kill")

    def refused_forks(self) -> int:
        return 0 if self.pids is None else self.pids.event("pids.events", "max")

    def _named(self) -> list[tuple[str, Group]]:
        return [(name, group) for name, group in (("memory", self.memory), ("pids", self.pids)) if group is not None]

    def _all(self) -> list[Group]:
        """Each directory once: in version 2 both controllers share one."""
        groups = [group for _, group in self._named()]
        return groups[:1] if len(groups) == 2 and groups[0].path == groups[1].path else groups


def create(memory: int, processes: int) -> Groups:
    """Groups with these limits (bytes; processes and threads), as far as this process may create them."""
    host = _host(os.getpid())
    _sweep_now_and_then()
    busy = list(_busy)
    _busy.clear()
    for group in busy:
        group.remove(pauses=(0,))
    name = f"{host.owner}-{next(_counter)}"
    made: dict[str, Group | None] = {"memory": None, "pids": None}
    for controller, limit in (("memory", memory), ("pids", processes)):
        if controller in host.parents:
            version, parent = host.parents[controller]
            made[controller] = _make(parent / name, version, _FILES[controller, version], limit)
    return Groups(made["memory"], made["pids"])


@dataclass(frozen=True)
class _Host:
    """What does not change while this process lives."""

    owner: str
    parents: dict[str, tuple[int, Path]]
    """Controller -> version, and the group in which to make others."""


@cache
def _host(pid: int) -> _Host:
    """Found out once per process."""
    own = parents()
    found: dict[str, tuple[int, Path]] = {}
    unified = own.get("")
    for controller in ("memory", "pids"):
        if controller in own:
            found[controller] = (1, own[controller])
        elif unified is not None and (parent := _delegating(unified, controller)) is not None:
            found[controller] = (2, parent)
    return _Host(f"{_PREFIX}-{lease(pid)}", found)


def _make(path: Path, version: int, files: tuple[str, ...], limit: int) -> Group | None:
    group = Group(path, version)
    try:
        path.mkdir(exist_ok=True)  # version 2: the second controller finds it made
        for file in files:
            if file == files[0] or (path / file).exists():
                (path / file).write_text("0" if file == "memory.swap.max" else str(limit))
        return group
    except OSError:  # not ours to use: the guarantee becomes "best effort", and says so
        group.remove()
        return None


def parents() -> dict[str, Path]:
    """Controller -> directory of this process's own group; version 2 under the empty name."""
    mounts: dict[str, tuple[str, Path]] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        _, _, _, root, target, *_ = fields.split(" ")
        if kind == "cgroup2":
            mounts[""] = (root, Path(target))
        elif kind == "cgroup":
            mounts.update({name: (root, Path(target)) for name in options.split(",") if name in ("memory", "pids")})
    found = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in mounts:
                top, directory = mounts[name]
                inner = os.path.relpath(path, top)
                if not inner.startswith(".."):
                    found[name] = directory / inner
    return found


def _delegating(own: Path, controller: str) -> Path | None:
    """Version 2: the nearest group that hands this controller to its children: ours, or the one beside us."""
    for group in (own, own.parent):
        control = group / "cgroup.subtree_control"
        if control.exists() and controller in control.read_text().split() and os.access(group, os.W_OK):
            return group
    return None


def _sweep_now_and_then() -> None:
    """Looking through thousands of groups for each sandbox would make all of them slow."""
    global _swept
    if time.monotonic() - _swept > _SWEEP_SECONDS:
        _swept = time.monotonic()
        sweep()


def sweep() -> int:
    """Remove the groups of owners in our pid namespace that no longer live; how many. One that is busy stays."""
    return sum(_sweep(parent) for parent in {parent for _, parent in _host(os.getpid()).parents.values()})


def _sweep(parent: Path) -> int:
    removed = 0
    for entry in list(os.scandir(parent)):
        prefix, _, rest = entry.name.partition("-")
        if prefix == _PREFIX and is_orphan(rest.rpartition("-")[0]):
            Group(Path(entry.path), 0).remove(pauses=(0,))
            removed += not os.path.exists(entry.path)
    return removed
