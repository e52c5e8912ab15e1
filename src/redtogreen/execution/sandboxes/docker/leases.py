"""Labels that say who owns a container, and the removal of containers whose owner is gone."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from redtogreen.errors import SandboxError

from .engine import Engine, find_engine

_LABEL = "redtogreen.lease"
PREFIX = "redtogreen-root-"
"""Of the temporary folders that serve as roots; the lease of the owner follows."""


def label() -> list[str]:
    """Options that mark a container as this process's own."""
    return ["--label", f"{_LABEL}={lease(os.getpid())}"]


def lease(pid: int) -> str:
    """`<pid namespace>-<pid>-<start time>` of a process. Raises FileNotFoundError for one that does not live."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{os.stat('/proc/self/ns/pid').st_ino}-{pid}-{fields[19]}"


def reap_orphans() -> list[str]:
    """Remove the containers, and the root folders, whose owner in this pid namespace no longer lives; their names.

    Raises SandboxError when there is no engine, or it fails.
    """
    engine = find_engine()
    removed = []
    for name in engine.ask("ps", "--all", "--quiet", "--filter", f"label={_LABEL}").split():
        marks = _marks(engine, name)
        if marks is not None and _is_orphan(marks.get(_LABEL, "")):
            engine.ask("rm", "--force", name)
            removed.append(name)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_orphan("-".join(folder.name.removeprefix(PREFIX).split("-")[:3])):
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
            removed.append(folder.name)
    return removed


def _marks(engine: Engine, name: str) -> dict[str, str] | None:
    try:
        return json.loads(engine.ask("inspect", "--format", "{{json .Config.Labels}}", name))
    except SandboxError:
        return None  # it has just been removed by its owner


def _is_orphan(mark: str) -> bool:
    if mark.count("-") != 2:
        return False
    space, pid, _ = mark.split("-")
    if space != str(os.stat("/proc/self/ns/pid").st_ino):
        return False  # of another container or machine: nobody here can say
    try:
        return lease(int(pid)) != mark
    except (FileNotFoundError, ProcessLookupError):
        return True
