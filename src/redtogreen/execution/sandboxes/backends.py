"""The backends by name: which there are, which of them this machine can start, and how to open one."""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from redtogreen.errors import SandboxError, UsageError, nearest

from .contract import Sandbox
from .namespace import owner_for_lower

BACKENDS = ("namespace", "bubblewrap", "docker")
"""In the order in which they are tried; the first is the default."""

_PACKAGE = __package__


def known() -> list[str]:
    """Names of the backends that are part of this installation."""
    return [name for name in BACKENDS if importlib.util.find_spec(f"{_PACKAGE}.{name}") is not None]


def opener(name: str) -> Callable[..., Sandbox]:
    """`open_sandbox` of a backend. Raises UsageError for one that does not exist."""
    return _module(name).open_sandbox


def why_not(name: str) -> str | None:
    """Why this machine cannot start a backend, as `REASON` or `REASON, blank line, hint: REMEDY`; None: it can.

    Raises UsageError as `opener`.
    """
    available = getattr(_module(name), "available", None)
    if available is not None:
        return available()
    with tempfile.TemporaryDirectory() as folder:
        lower = Path(folder)
        owner = owner_for_lower()
        if owner is not None:
            os.chown(lower, owner, owner)
        try:
            opener(name)(lower).close()
        except SandboxError as error:
            return str(error)
    return None


def _module(name: str) -> ModuleType:
    names = known()
    if name not in names:
        close = nearest(name, names)
        raise UsageError(
            f"unknown backend {name!r}",
            (f"did you mean {close!r}? " if close else "") + f"there are: {', '.join(names)}",
        )
    return importlib.import_module(f"{_PACKAGE}.{name}")
