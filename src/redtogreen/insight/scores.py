"""Rewards and recipes as scripts and people read them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import msgspec

from redtogreen.insight.tables import table
from redtogreen.insight.texts import number, one_line
from redtogreen.records import Score
from redtogreen.rewards import Recipe, find_component

EXPLAINED = 3
"""Up to so many rows are explained component by component."""


def scores_data(scores: Sequence[Score]) -> dict[str, Any]:
    """The documented keys of `score --json`."""
    return {"recipe": scores[0].recipe if scores else None, "rewards": [msgspec.to_builtins(score) for score in scores]}


def scores_text(scores: Sequence[Score]) -> str:
    """One line per row, components with evidence when the rows are few, a summary when they are many."""
    if not scores:
        return "no rows"
    explained = len(scores) <= EXPLAINED
    lines = []
    for score in scores:
        name = " ".join(part for part in (score.task_id if not score.attempt else "", score.attempt or "") if part)
        lines.append(f"{number(score.reward):>8}  {one_line(name, 160)}" + _why_none(score))
        if explained:
            lines += [_component(part) for part in score.components]
    values = [score.reward for score in scores if score.reward is not None]
    if not explained:
        lines += ["", f"{len(scores)} rows, {len(values)} with a reward"]
        if values:
            lines[-1] += (
                f": mean {number(statistics.fmean(values))}, from {number(min(values))} to {number(max(values))}"
            )
    return "\n".join(lines)


def recipe_data(recipe: Recipe) -> dict[str, Any]:
    """A recipe with what its components say of themselves."""
    parts = []
    for part in recipe.components:
        component = find_component(part.name)
        parts.append(
            {
                "name": part.name,
                "weight": part.weight,
                "low": component.low,
                "high": component.high,
                "unit": component.unit,
                "meaning": component.meaning,
            }
        )
    return {
        "name": recipe.name,
        "version": recipe.version,
        "summary": recipe.summary,
        "warning": recipe.warning,
        "tampered": recipe.tampered,
        "hash": recipe.digest,
        "components": parts,
    }


def recipe_text(data: dict[str, Any]) -> str:
    """What `recipe_data` holds, for people."""
    lines = [f"{data['name']} version {data['version']}: {data['summary']}"]
    if data["warning"]:
        lines += ["", f"warning: {data['warning']}"]
    rows = [
        (part["name"], number(part["weight"]), f"{number(part['low'])} to {number(part['high'])}", part["unit"])
        for part in data["components"]
    ]
    lines += ["", table(["component", "weight", "range", "unit"], rows, left=1), ""]
    lines += [f"{part['name']}: {part['meaning']}" for part in data["components"]]
    lines += ["", f"an attempt that tampered is paid {number(data['tampered'])}"]
    return "\n".join(lines)


def _why_none(score: Score) -> str:
    if score.reward is None:
        return f"   no reward: {one_line(score.reason or 'not stated', 120)}"
    return f"   gate: {score.gate}" if score.gate else ""


def _component(part: Any) -> str:
    why = "; ".join((f"step {item.step}: " if item.step is not None else "") + item.text for item in part.evidence[:3])
    return f"{'':>8}  {part.name:<18} {number(part.value):>6} x {number(part.weight):<6} {one_line(why, 120)}".rstrip()
