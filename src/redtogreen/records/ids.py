"""Finding one of many ids by what a person types."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from redtogreen.errors import UsageError

NEAREST = 3
"""Ids an error names."""


def pick(wanted: str, ids: Sequence[str], what: str, where: str, *, numbered: bool = False, see: str = "") -> int:
    """Index of the id that is meant: the id itself, the only one that ends with these words, or the only one they are
    part of. With `numbered` also a row number from 1.

    Raises UsageError when none fits, or several do, naming the nearest. `what` is the plural of what has the ids,
    `where` the place they are in, `see` a command that lists them.
    """
    if wanted in ids:
        return ids.index(wanted)
    if not ids:
        raise UsageError(f"{where} holds no {what}", see or None)
    if numbered and wanted.isdecimal():
        if 1 <= int(wanted[:9]) <= len(ids):
            return int(wanted) - 1
        raise UsageError(f"{where} holds no row {wanted}", f"its rows are numbered from 1 to {len(ids)}")
    inside = [at for at, name in enumerate(ids) if wanted and wanted in name]
    ending = [at for at in inside if ids[at].endswith(wanted) and not ids[at][: -len(wanted)][-1:].isalnum()]
    fitting = ending or inside
    if len(fitting) == 1:
        return fitting[0]
    more = f"See: {see}" if see else ""
    if fitting:
        some = ", ".join(ids[at] for at in fitting[:NEAREST]) + (", ..." if len(fitting) > NEAREST else "")
        or_number = ", or its row number" if numbered else ""
        raise UsageError(
            f"{wanted!r} fits {len(fitting)} {what} of {where}: {some}",
            f"give more of the id{or_number}. {more}".strip(),
        )
    near = ", ".join(nearest_ids(wanted, ids))
    hints = [hint for hint in (f"the nearest: {near}" if near else "", more) if hint]
    raise UsageError(f"{where} holds no {what.removesuffix('s')} {wanted!r}", "; ".join(hints) or None)


def nearest_ids(wanted: str, ids: Sequence[str]) -> list[str]:
    """At most `NEAREST` ids, those first of which the whole or a part looks most like the wanted one."""

    def likeness(name: str) -> float:
        parts = [name, *re.split(r"[/:]", name)]
        return max(difflib.SequenceMatcher(None, wanted, part).ratio() for part in parts)

    return sorted(dict.fromkeys(ids), key=lambda name: -likeness(name))[:NEAREST]
