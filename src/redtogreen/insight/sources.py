"""What each source of tasks is good for, beside the figures of a user's own tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from redtogreen.insight.tables import table
from redtogreen.records import Task


@dataclass(frozen=True)
class Source:
    """One way to make tasks."""

    name: str
    about: str
    material: str
    cost: str
    quality: str
    noise: str
    use: str


SOURCES = (
    Source(
        name="mutate",
        about="Inject realistic bugs into any Python project that has tests.",
        material="open-source repositories",
        cost="low",
        quality="medium",
        noise="high before admission",
        use="RL data in quantity, SFT cold start",
    ),
    Source(
        name="folder",
        about="One task from a folder of your own, with tests that decide.",
        material="your own work",
        cost="high: somebody prepares it",
        quality="as good as its tests",
        noise="low",
        use="evaluation, seed tasks, cases you care about",
    ),
)


def sources_data(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """The table of sources with counts over some tasks: all, admitted, projects."""
    found = list(tasks)
    rows = []
    for source in SOURCES:
        own = [task for task in found if task.source == source.name]
        rows.append(
            asdict(source)
            | {
                "tasks": len(own),
                "admitted": sum(task.certificate is not None and task.certificate.proof == "full" for task in own),
                "projects": len({task.provenance.project for task in own}),
            }
        )
    return rows


def sources_text(rows: list[dict[str, Any]]) -> str:
    """The table for people; the counts only when there are tasks."""
    head = ["name", "material", "cost", "quality", "noise", "use"]
    parts = [table(["source", *head[1:]], [[row[name] for name in head] for row in rows], left=6)]
    parts.append("\n".join(f"{row['name']}: {row['about']}" for row in rows))
    if any(row["tasks"] for row in rows):
        counts = ["name", "tasks", "admitted", "projects"]
        parts.append(table(["source", *counts[1:]], [[row[name] for name in counts] for row in rows]))
    return "\n\n".join(parts)
