"""What a report says about a set of attempts, gathered in one pass with a bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from redtogreen.insight.steps import outcome_name
from redtogreen.records import Score, Task, Trajectory, views

Scorer = Callable[[Trajectory], Score | None]
SHOWN_PER_OUTCOME = 3


@dataclass
class Facts:
    """Counts of one input and a few of its trajectories."""

    title: str
    funnel: list[tuple[str, int]] = field(default_factory=list)
    """(stage, how many came through it), from candidates to rows; stages that are not known are left out."""
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    """Stage -> reason -> count."""
    attempts: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    by_project: dict[str, Counter[str]] = field(default_factory=dict)
    by_operator: dict[str, Counter[str]] = field(default_factory=dict)
    """Empty: the tasks do not say how they were broken."""
    tasks: int = 0
    tasks_solved: int = 0
    """Tasks solved at least once."""
    rewards: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    recovered: int = 0
    """Solved attempts that had a failing test run after their first edit."""
    recipe: str | None = None
    shown: list[tuple[Trajectory, Score | None]] = field(default_factory=list)
    """Trajectories to show step by step: recoveries first, then shorter ones, a few of each outcome."""


def gather(
    title: str,
    rows: Iterable[Trajectory],
    scorer: Scorer,
    *,
    tasks: Mapping[str, Task] | None = None,
    funnel: Sequence[tuple[str, int]] = (),
    dropped: Mapping[str, Mapping[str, int]] | None = None,
) -> Facts:
    """Count the rows. `tasks` (by id) tell operators; `funnel` and `dropped` are the stages before and after."""
    facts = Facts(title, dropped={name: dict(counts) for name, counts in (dropped or {}).items()})
    seen: set[str] = set()
    solved: set[str] = set()
    best: dict[str, list[tuple[tuple, Trajectory, Score | None]]] = {}
    for row in rows:
        score, outcome = scorer(row), outcome_name(row)
        facts.recipe = score.recipe if score else facts.recipe
        facts.attempts += 1
        facts.outcomes[outcome] += 1
        facts.steps.append(len(row.trajectory))
        seen.add(row.task_id)
        task = (tasks or {}).get(row.task_id)
        facts.by_project.setdefault(project_of(row, task), Counter())[outcome] += 1
        if task is not None and task.provenance.operator:
            facts.by_operator.setdefault(task.provenance.operator, Counter())[outcome] += 1
        value = score.reward if score else row.reward
        if value is not None:
            facts.rewards.append(value)
        recovers = outcome == "solved" and failed_after_edit(row)
        facts.recovered += recovers
        if outcome == "solved":
            solved.add(row.task_id)
        kept = best.setdefault(outcome, [])
        kept.append(((not recovers, len(row.trajectory) < 3, len(row.trajectory), row.attempt or ""), row, score))
        kept.sort(key=lambda item: item[0])
        del kept[SHOWN_PER_OUTCOME:]
    facts.tasks, facts.tasks_solved = len(seen), len(solved)
    facts.shown = [(row, score) for outcome in sorted(best, key=_order) for _, row, score in best[outcome]][:8]
    before = [(name, count) for name, count in funnel if name not in _AFTER]
    after = [(name, count) for name, count in funnel if name in _AFTER]
    facts.funnel = [*before, ("attempts", facts.attempts), ("solved", facts.outcomes["solved"]), *after]
    facts.by_project = dict(sorted(facts.by_project.items()))
    facts.by_operator = dict(sorted(facts.by_operator.items()))
    return facts


_AFTER = ("kept", "rows")


def project_of(row: Trajectory, task: Task | None = None) -> str:
    """Name of the project an attempt worked on."""
    return (task.provenance.project if task else None) or row.metadata.project or row.task_id.split("/")[0]


def failed_after_edit(row: Trajectory) -> bool:
    """Whether a test run failed after the first applied edit."""
    edited = False
    for step in row.trajectory:
        edited = edited or views.applied(step)
        if edited and views.is_test_run(step) and (step.feedback.failed or step.observation.get("exit_code")):
            return True
    return False


def _order(outcome: str) -> tuple[int, str]:
    known = ("solved", "failed", "tampered")
    return (known.index(outcome) if outcome in known else len(known), outcome)
