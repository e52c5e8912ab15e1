"""A reward with its explanation: no number without evidence."""

from __future__ import annotations

from redtogreen.records.base import SCHEMA, Record


class Evidence(Record, kw_only=True, omit_defaults=True):
    """What a component saw."""

    text: str
    step: int | None = None
    """Number of the step; None: the whole trajectory."""
    test: str | None = None


class ComponentScore(Record, kw_only=True):
    """One named number of a reward."""

    name: str
    value: float
    weight: float
    low: float
    """Smallest value the component can take."""
    high: float
    meaning: str
    """The behaviour this number stands for, in one sentence."""
    evidence: list[Evidence] = []


class Score(Record, kw_only=True):
    """Reward of one trajectory under one recipe."""

    schema: int = SCHEMA
    recipe: str
    version: int
    task_id: str
    attempt: str | None = None
    reward: float | None = None
    """Gated weighted sum of the components; None: the outcome carries no reward."""
    components: list[ComponentScore] = []
    steps: list[float] = []
    """Reward placed at each step; sums to `reward` exactly in rational arithmetic. Empty: none placed."""
    gate: str | None = None
    """Which gate replaced the sum, None: none did."""
    reason: str | None = None
    """Why there is no reward."""
