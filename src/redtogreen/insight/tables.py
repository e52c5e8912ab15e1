"""Plain-text tables that read without colour and stay aligned."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from redtogreen.insight.texts import one_line, share


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1, limit: int = 60) -> str:
    """Aligned columns, the first `left` of them to the left, the others to the right; long cells are cut."""
    cells = [[one_line(str(cell), limit) for cell in row] for row in [head, *rows]]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        padded = [
            cell + " " * (width - _width(cell)) if index < left else " " * (width - _width(cell)) + cell
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


OF = {"admitted": "candidates", "solved": "attempts", "kept": "attempts"}
"""Stage of the chain -> the stage its share is counted from."""


def funnel_table(funnel: Sequence[tuple[str, int]]) -> str:
    """How many came through each stage, with the share of the stage they are a part of."""
    counts = dict(funnel)
    rows = []
    for name, count in funnel:
        whole = OF.get(name, "")
        rows.append((name, count, f"{share(count, counts[whole])} of {whole}" if whole in counts else ""))
    return table(["stage", "count", "share"], rows)


def counts_table(head: str, counts: Mapping[str, int]) -> str:
    """Counts by name, largest first, with their share."""
    whole = sum(counts.values())
    rows = sorted(((name, count) for name, count in counts.items() if count), key=lambda item: (-item[1], item[0]))
    return table([head, "count", "share"], [(name, count, share(count, whole)) for name, count in rows])


def reasons(dropped: Mapping[str, int]) -> str:
    """Counts by reason on one line, largest first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(dropped.items(), key=lambda item: -item[1]) if count)


def outcome_table(head: str, groups: Mapping[str, Mapping[str, int]]) -> str:
    """Outcomes by group, a column per outcome that occurs, the share solved of those that carry a reward."""
    order = ["solved", "failed", "tampered", "environment_error", "grader_error", "interrupted"]
    names = sorted(
        {name for counts in groups.values() for name, count in counts.items() if count},
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )
    rows = []
    for group, counts in groups.items():
        judged = sum(counts.get(name, 0) for name in ("solved", "failed", "tampered"))
        solved = share(counts.get("solved", 0), judged)
        rows.append([group, sum(counts.values()), *(counts.get(name, 0) for name in names), solved])
    return table([head, "attempts", *names, "solve rate"], rows)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
