"""Labels that say who owns a container, and the removal of containers whose owner is gone."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from redtogreen.errors import SandboxError

from ..leases import is_orphan, lease
from .engine import Engine, find_engine

_LABEL = "redtogreen.lease"
PREFIX = "redtogreen-root-"
"""Of the temporary folders that serve as roots; the lease of the owner follows."""


def label() -> list[str]:
    """Options that mark a container as this process's own."""
    return ["--label", f"{_LABEL}={lease(os.getpid())}"]


def reap_orphans() -> list[str]:
    """Remove the containers, and the root folders, whose owner in this pid namespace no longer lives; their names.

    Raises SandboxError when there is no engine, or it fails.
    """
    engine = find_engine()
    removed = []
    for name in engine.ask("ps", "--all", "--quiet", "--filter", f"label={_LABEL}").split():
        marks = _marks(engine, name)
        if marks is not None and is_orphan(marks.get(_LABEL, "")):
            engine.ask("rm", "--force", name)
            removed.append(name)
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if is_orphan("-".join(folder.name.removeprefix(PREFIX).split("-")[:3])):
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
            removed.append(folder.name)
    return removed


def _marks(engine: Engine, name: str) -> dict[str, str] | None:
    try:
        return json.loads(engine.ask("inspect", "--format", "{{json .Config.Labels}}", name))
    except SandboxError:
        return None  # it has just been removed by its owner
