"""The facts of a report as scripts and people read them on a terminal."""

from __future__ import annotations

import statistics
from typing import Any

from redtogreen.insight.facts import Facts
from redtogreen.insight.tables import counts_table, funnel_table, outcome_table
from redtogreen.insight.texts import number, share


def facts_data(facts: Facts) -> dict[str, Any]:
    """Counts as plain objects."""
    return {
        "title": facts.title,
        "recipe": facts.recipe,
        "funnel": [{"stage": name, "count": count} for name, count in facts.funnel],
        "dropped": facts.dropped,
        "attempts": facts.attempts,
        "outcomes": dict(facts.outcomes),
        "tasks": facts.tasks,
        "tasks_solved": facts.tasks_solved,
        "recovered": facts.recovered,
        "by_project": {name: dict(counts) for name, counts in facts.by_project.items()},
        "by_operator": {name: dict(counts) for name, counts in facts.by_operator.items()},
        "reward": reward_figures(facts),
    }


def reward_figures(facts: Facts) -> dict[str, float | int | None]:
    """How many attempts carry a reward, its mean and range."""
    values = facts.rewards
    return {
        "count": len(values),
        "mean": statistics.fmean(values) if values else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
    }


def facts_text(facts: Facts) -> str:
    """The same as tables."""
    parts = [facts.title, funnel_table(facts.funnel), sentence(facts)]
    if facts.by_project:
        parts.append(outcome_table("project", facts.by_project))
    if facts.by_operator:
        parts.append(outcome_table("operator", facts.by_operator))
    parts += [
        counts_table(f"dropped at {stage}", counts) for stage, counts in facts.dropped.items() if any(counts.values())
    ]
    return "\n\n".join(parts)


def sentence(facts: Facts) -> str:
    """The main figures in words."""
    figures = reward_figures(facts)
    text = (
        f"{facts.tasks_solved} of {facts.tasks} tasks solved at least once ({share(facts.tasks_solved, facts.tasks)}); "
        f"{facts.recovered} attempts solved after a test run that failed after an edit"
    )
    if figures["count"]:
        low, high = number(figures["min"]), number(figures["max"])
        text += f"; reward ({facts.recipe or 'as recorded'}) mean {number(figures['mean'])}, from {low} to {high}"
    return text
