"""Keep or drop one trajectory, with the reason."""

from __future__ import annotations

from redtogreen.records.base import SCHEMA, Record


class Verdict(Record, kw_only=True):
    """What cleaning decided about one input row."""

    schema: int = SCHEMA
    source: str
    """File the row came from."""
    line: int
    """Line or row number, from 1."""
    task_id: str | None = None
    attempt: str | None = None
    keep: bool
    rule: str | None = None
    """Name of the rule that dropped it; None when kept."""
    reason: str | None = None
