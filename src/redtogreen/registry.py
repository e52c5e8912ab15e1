"""A name, or `module:object`, -> the implementation behind it, through entry points.

Groups: `redtogreen.agents`, `redtogreen.rewards`, `redtogreen.filters`, `redtogreen.exports`. Built-ins register the
same way as plugins. A plugin that fails to import is reported as itself, not as an unknown name.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from redtogreen.errors import UsageError, nearest

GROUPS = ("agents", "rewards", "filters", "exports")


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"redtogreen.{group}")}


def names(group: str) -> list[str]:
    """Registered names of one group, sorted."""
    return sorted(_entries(group))


def load(group: str, name: str) -> Any:
    """The object registered as `name`, or the one `module:object` names.

    Raises UsageError for an unknown name (with the nearest known one) and for a plugin that cannot be imported.
    """
    entry = _entries(group).get(name)
    try:
        if entry is not None:
            return entry.load()
        if ":" in name:
            module, _, attribute = name.partition(":")
            return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        where = f"{entry.value} (from {entry.dist.name if entry.dist else 'unknown'})" if entry else name
        raise UsageError(
            f"plugin {name!r} of group redtogreen.{group} failed to import: {where}: {type(error).__name__}: {error}",
            "the fault lies in that plugin; import it by hand to see the traceback",
        ) from error
    close = nearest(name, names(group))
    raise UsageError(
        f"unknown {group.removesuffix('s')} {name!r}",
        (f"did you mean {close!r}? " if close else "") + f"See: redtogreen list {group}",
    )
