"""The backends by name: which there are, which of them this machine can start, and how to open one."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import ModuleType

from redtogreen.errors import SandboxError, UsageError, nearest

from . import guarantees
from .contract import Sandbox
from .requests import owner_for_lower

BACKENDS = ("namespace", "bubblewrap", "docker")
"""In the order in which they are tried; the first is the default. All of them are attacked by the self-test."""
WITHOUT_NAMESPACES = "landlock"
"""Promises less and works where none of the others does. Used only when asked for by name; the self-test's payloads
refuse to run in it, because its processes share the host's namespaces."""

_PACKAGE = __package__


def known() -> list[str]:
    """Names of the backends that are part of this installation, in the order in which they are tried."""
    return [name for name in BACKENDS if importlib.util.find_spec(f"{_PACKAGE}.{name}") is not None]


def opener(name: str) -> Callable[..., Sandbox]:
    """`open_sandbox` of a backend. Raises UsageError for one that does not exist."""
    return _module(name).open_sandbox


def why_not(name: str) -> str | None:
    """Why this machine cannot start a backend, as `REASON` or `REASON, blank line, hint: REMEDY`; None: it can.

    Raises UsageError as `opener`.
    """
    try:
        with _opened(name):
            return None
    except SandboxError as error:
        return str(error)


def demand(required: Collection[str], name: str = BACKENDS[0]) -> None:
    """Open a sandbox, if anything is required, and refuse a machine that does not enforce it.

    Raises UsageError for an unknown guarantee or backend, SandboxError naming what does not hold.
    """
    if required:
        guarantees.missing(required, {})  # a misspelt name is told before anything is started
        with _opened(name) as box:
            guarantees.demand(required, box.guarantees, "this run")


@contextlib.contextmanager
def _opened(name: str) -> Iterator[Sandbox]:
    """A sandbox over nothing."""
    with tempfile.TemporaryDirectory() as folder:
        lower = Path(folder)
        owner = owner_for_lower()
        if owner is not None:
            os.chown(lower, owner, owner)
        with opener(name)(lower) as box:
            yield box


def _module(name: str) -> ModuleType:
    names = [*known(), WITHOUT_NAMESPACES]
    if name not in names:
        close = nearest(name, names)
        raise UsageError(
            f"unknown backend {name!r}",
            (f"did you mean {close!r}? " if close else "") + f"there are: {', '.join(names)}",
        )
    return importlib.import_module(f"{_PACKAGE}.{name}")
