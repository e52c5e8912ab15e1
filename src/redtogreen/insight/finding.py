"""Finding one attempt by what a person types."""

from __future__ import annotations

from collections.abc import Iterable

from redtogreen.errors import UsageError, nearest
from redtogreen.records import Trajectory


def find_attempt(rows: Iterable[Trajectory], wanted: str, source: str) -> Trajectory:
    """The attempt with this id, or the only one whose id ends with it, or the row of this number, from 1.

    Raises UsageError when there is none or when several fit, naming the nearest.
    """
    ends: list[Trajectory] = []
    names: list[str] = []
    numbered = None
    for position, row in enumerate(rows, 1):
        name = row.attempt or row.task_id
        names.append(name)
        if name == wanted:
            return row
        if name.endswith(wanted) and not name[: -len(wanted)][-1:].isalnum():
            ends.append(row)
        if wanted.isdigit() and position == int(wanted):
            numbered = row
    if numbered is not None and wanted.isdigit():
        return numbered
    if len(ends) == 1:
        return ends[0]
    if ends:
        some = ", ".join(row.attempt or row.task_id for row in ends[:3])
        raise UsageError(f"{len(ends)} attempts of {source} end with {wanted!r}", f"write more of one: {some}")
    close = nearest(wanted, names)
    there = f"{source} holds {len(names)} attempts" + (f", for example {names[0]!r}" if names else "")
    raise UsageError(f"no attempt {wanted!r} in {source}", f"did you mean {close!r}?" if close else there)
