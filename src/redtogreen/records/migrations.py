"""Older schema versions -> the current one. A row without `schema` is read as the current version.

`MIGRATIONS[(record name, version)]` turns a raw object of that version into one of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redtogreen.errors import RecordError
from redtogreen.records.base import SCHEMA

Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: dict[tuple[str, int], Migration] = {}


def migrate(raw: dict[str, Any], kind: str) -> dict[str, Any]:
    """A raw object lifted to the current schema. Raises RecordError for versions this code cannot read."""
    version = raw.get("schema", SCHEMA)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RecordError(f"`schema` must be a whole number from 1 to {SCHEMA}, found {version!r}")
    if version > SCHEMA:
        raise RecordError(
            f"schema {version} was written by a newer redtogreen; this one reads up to {SCHEMA}",
            "upgrade with: pip install --upgrade redtogreen",
        )
    while version < SCHEMA:
        step = MIGRATIONS.get((kind, version))
        raw = step(dict(raw)) if step else dict(raw)
        version += 1
        raw["schema"] = version
    return raw
