"""Find an export format by name and write with it, whole or not at all.

Plugins offer a `protocols.Exporter` in the group `redtogreen.exports`. Rows are (split, trajectory) pairs; `out` is an
empty folder that appears under its name when `write` returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from redtogreen import registry
from redtogreen.data.exports import json_lines, trl_sft
from redtogreen.data.folders import new_folder
from redtogreen.errors import UsageError, nearest
from redtogreen.records import Trajectory
from redtogreen.store import disk_errors

Rows = Iterable[tuple[str, Trajectory]]
BUILT_IN: dict[str, Callable[..., dict[str, Any]]] = {"redtogreen": json_lines.write, "trl-sft": trl_sft.write}


def format_names() -> list[str]:
    """Names of all formats that can be written, sorted."""
    return sorted({*BUILT_IN, *registry.names("exports")})


def export(format: str, rows: Rows, out: Path, **options: Any) -> dict[str, Any]:
    """Write (split, trajectory) pairs, for example `dataset.split_rows()`, as `format` into the new folder `out`.

    Returns counts: `trajectories` taken in, `rows` per written file, `left_out` per reason.
    Raises UsageError for an unknown format or option, and when `out` already holds something.
    """
    writer = _find(format)
    known = [
        name
        for name, parameter in inspect.signature(writer).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    for name in options:
        if name not in known:
            close = nearest(name, known)
            takes = f"it takes: {', '.join(known)}" if known else "it takes none"
            raise UsageError(
                f"export format {format!r} has no option {name!r}",
                (f"did you mean {close!r}? " if close else "") + takes,
            )
    out = Path(out)
    with new_folder(out, "an export") as folder, disk_errors(out):
        return writer(rows, folder, **options)


def _find(format: str) -> Callable[..., dict[str, Any]]:
    if format in BUILT_IN:
        return BUILT_IN[format]
    if format not in registry.names("exports") and ":" not in format:
        close = nearest(format, format_names())
        raise UsageError(
            f"unknown export format {format!r}",
            (f"did you mean {close!r}? " if close else "") + "See: redtogreen list exports",
        )
    exporter = registry.load("exports", format)

    def write(rows: Rows, out: Path) -> dict[str, Any]:
        taken = 0

        def counted() -> Iterator[tuple[str, Trajectory]]:
            nonlocal taken
            for row in rows:
                taken += 1
                yield row

        written = dict(exporter.write(counted(), out))
        return {"trajectories": taken, "rows": written, "left_out": {}}

    return write
