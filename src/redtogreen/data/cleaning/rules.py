"""The rules of a cleaning recipe, each a small object, found by name.

A rule takes the rows that are left, in order, and gives every one back with None (it stays) or the reason it goes.
Rules that need only one row at a time are generators, so nothing is held; a rule about the whole set reads it all.
Plugins offer a `protocols.CleaningRule` in the group `redtogreen.filters`, or a class or function that makes one; its
keyword arguments are then the rule's parameters in the recipe file. It sees trajectories with their rewards.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from redtogreen import registry
from redtogreen.data.cleaning.failures import FailuresShare
from redtogreen.data.cleaning.row import Row
from redtogreen.errors import UsageError, nearest
from redtogreen.protocols import CleaningRule
from redtogreen.records import Trajectory
from redtogreen.records.canonical import canonical_json, canonical_trajectory

Decided = tuple[Row, str | None]


class Rule(Protocol):
    """One filter."""

    @property
    def name(self) -> str: ...

    def apply(self, rows: Iterable[Row]) -> Iterable[Decided]:
        """Every row in its order, with None when it stays or the reason why it goes."""
        ...


@dataclass(frozen=True)
class Invalid:
    """Rows that are not a trajectory."""

    name = "invalid"

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        for row in rows:
            yield row, None if row.error is None else row.error.message


@dataclass(frozen=True)
class NoSteps:
    """Attempts that did nothing."""

    name = "no_steps"

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        for row in rows:
            yield row, None if row.content.trajectory else "0 steps"


@dataclass(frozen=True)
class MaxSteps:
    """Attempts longer than `limit` steps."""

    limit: int = 50
    name = "max_steps"

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not isinstance(self.limit, int) or self.limit < 1:
            raise ValueError(f"`limit` must be a whole number of steps from 1, found {self.limit!r}")

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        for row in rows:
            count = len(row.content.trajectory)
            yield row, None if count <= self.limit else f"{count} steps, more than {self.limit}"


@dataclass(frozen=True)
class NoReward:
    """Attempts whose outcome carries no reward: failures of the machine, and what was never judged."""

    name = "no_reward"

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        for row in rows:
            yield row, None if row.score.reward is not None else (row.score.reason or "the scorer gave no reward")


@dataclass(frozen=True)
class MinReward:
    """Attempts with a reward below `limit`."""

    limit: float = 0.0
    name = "min_reward"

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not isinstance(self.limit, int | float) or self.limit != self.limit:
            raise ValueError(f"`limit` must be a number, found {self.limit!r}")

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        for row in rows:
            reward = row.score.reward
            if reward is None:
                yield row, f"no reward to compare: {row.score.reason}"
            else:
                yield row, None if reward >= self.limit else f"reward {reward:g} is below {self.limit:g}"


@dataclass(frozen=True)
class ExactDuplicates:
    """Attempts that behave exactly like an earlier one; the first stays."""

    name = "exact_duplicates"

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        first: dict[bytes, str] = {}
        for row in rows:
            key = behaviour(row.content)
            where = row.content.attempt or f"{row.source}:{row.line}"
            yield row, f"same as {first[key]}" if key in first else None
            first.setdefault(key, where)


def behaviour(trajectory: Trajectory) -> bytes:
    """Hash of what was done and seen: attempt id, seed, index, call ids and rewards left out."""
    row = canonical_trajectory(trajectory)
    for name in ("attempt", "reward", "rewards"):
        row.pop(name, None)
    for name in ("seed", "index", "retry"):
        row.get("metadata", {}).pop(name, None)
    for step in row["trajectory"]:
        step.pop("call_id", None)
    return hashlib.sha256(canonical_json(row)).digest()


@dataclass(frozen=True)
class Judged:
    """A plugin's rule, which sees all rows at once and names those to drop."""

    name: str
    plugin: CleaningRule

    def apply(self, rows: Iterable[Row]) -> Iterator[Decided]:
        rows = list(rows)
        reasons = self.plugin.judge([row.scored() for row in rows])
        if wrong := [index for index in reasons if index not in range(len(rows))]:
            raise UsageError(f"rule {self.name!r} drops row {wrong[0]}, but there are {len(rows)}", "counted from 0")
        for index, row in enumerate(rows):
            yield row, reasons.get(index)


BUILT_IN: dict[str, Callable[..., Rule]] = {
    rule.name: rule for rule in (Invalid, NoSteps, MaxSteps, NoReward, MinReward, ExactDuplicates, FailuresShare)
}


def _constant(rule: CleaningRule) -> Callable[[], CleaningRule]:
    def made() -> CleaningRule:
        return rule

    return made


def rule_names() -> list[str]:
    """Names of all rules a cleaning recipe may use, sorted."""
    return sorted({*BUILT_IN, *registry.names("filters")})


def make_rule(name: str, parameters: dict[str, Any], where: str) -> Rule:
    """The rule of a name with its parameters; `where` names the recipe in errors.

    Raises UsageError for an unknown rule or parameter (with the nearest known one) and for impossible values.
    """
    factory: Any
    if name in BUILT_IN:
        factory = BUILT_IN[name]
    elif name in registry.names("filters") or ":" in name:
        factory = registry.load("filters", name)
        if hasattr(factory, "judge") and not isinstance(factory, type):
            factory = _constant(factory)
    else:
        close = nearest(name, rule_names())
        raise UsageError(
            f"{where}: unknown rule {name!r}",
            (f"did you mean {close!r}? " if close else "") + "See: redtogreen list filters",
        )
    known = inspect.signature(factory).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        for parameter in parameters:
            if parameter not in known:
                close = nearest(parameter, known)
                takes = f"{name} takes: {', '.join(known)}" if known else f"{name} takes none"
                raise UsageError(
                    f"{where}: rule {name!r} has no parameter {parameter!r}",
                    (f"did you mean {close!r}? " if close else "") + takes,
                )
    try:
        rule = factory(**parameters)
        return rule if name in BUILT_IN else Judged(name, rule)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: rule {name!r}: {error}") from error
