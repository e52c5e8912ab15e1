"""What kind of JSON-lines file something is, so that the wrong one gets a straight answer."""

from __future__ import annotations

import json
from pathlib import Path

from redtogreen.errors import UsageError

_SIGNS = (
    ("trajectories", {"trajectory"}, "see one with: redtogreen show {path} 1"),
    (
        "tasks",
        {"task_desc", "provenance"},
        "let an agent work on them: redtogreen collect {path} --agent NAME --out RUN",
    ),
    ("verdicts of cleaning", {"source", "line", "keep"}, "the rows that stayed lie in kept.jsonl beside it"),
    ("scores", {"recipe", "components"}, "give what was scored: a run folder, a dataset, or a file of trajectories"),
    ("rejected candidates", {"task_id", "reason"}, "the admitted ones lie in the file beside it, without .rejected"),
    ("dropped rows", {"raw", "error"}, "these lines could not be read when they were cleaned"),
    ("chat messages", {"messages"}, "this is an export for a trainer; give the dataset it was made from"),
)
"""(what it holds, fields that show it, what to do with it)"""


def check_kind(path: Path, wanted: str) -> None:
    """Raise UsageError when the first line of a file shows that it holds something else than `wanted`."""
    try:
        with open(path, "rb") as file:
            first = json.loads(next((line for line in file if line.strip()), b"null"))
    except (OSError, ValueError, RecursionError):
        return  # whoever reads it line by line says what is wrong, and where
    fields = set(first) if isinstance(first, dict) else set()
    kind, hint = next(((kind, hint) for kind, signs, hint in _SIGNS if signs <= fields), (wanted, ""))
    if kind != wanted:
        raise UsageError(f"{path} holds {kind}, not {wanted}", hint.format(path=path))
