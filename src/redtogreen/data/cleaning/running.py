"""Run the rules of a cleaning recipe over rows: what stays, what goes and why, and how many at each rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from redtogreen.data.cleaning.recipe import CleaningRecipe
from redtogreen.data.cleaning.row import Row, Scorer
from redtogreen.data.cleaning.rules import Rule
from redtogreen.errors import UsageError
from redtogreen.records import RowError, Trajectory, Verdict
from redtogreen.rewards import Recipe


@dataclass
class CleaningResult:
    """Everything a cleaning run decided."""

    recipe: CleaningRecipe
    kept: list[Trajectory] = field(default_factory=list)
    """Rows that stay, in input order, with `reward` and `rewards` set."""
    verdicts: list[Verdict] = field(default_factory=list)
    """One per input row, in input order."""
    funnel: list[tuple[str, int, int]] = field(default_factory=list)
    """(rule, rows in, rows out), in order."""
    rejected: dict[str, list[Row]] = field(default_factory=dict)
    """Rule -> rows it dropped, whole, as they came in."""
    reward_recipe: Recipe | None = None
    """What the rewards were computed with; None: not told."""

    @property
    def total(self) -> int:
        return len(self.verdicts)

    @property
    def drop_rate(self) -> float:
        """Share of the rows that went, in [0, 1]; 0 when there were none."""
        return 1 - len(self.kept) / self.total if self.total else 0.0

    @property
    def dropped(self) -> dict[str, int]:
        """Rule -> how many rows it dropped, in the order of the recipe."""
        return {rule: came - left for rule, came, left in self.funnel}

    def summary(self) -> str:
        """The short form: `total=..., kept=..., drop_rate=0.xx`."""
        return f"total={self.total}, kept={len(self.kept)}, drop_rate={self.drop_rate:.2f}"


def clean(
    rows: Iterable[tuple[str, int, Trajectory | RowError]],
    recipe: CleaningRecipe,
    scorer: Scorer,
    *,
    reward_recipe: Recipe | None = None,
) -> CleaningResult:
    """Pass rows (source, line or row number from 1, content) through a recipe.

    `scorer` gives a trajectory its Score and is asked once per row that gets far enough; `reward_recipe` is only
    noted down, so that a dataset can say and repeat where its rewards come from.
    """
    result = CleaningResult(recipe=recipe, reward_recipe=reward_recipe)
    verdicts: dict[int, Verdict] = {}
    order: list[Row] = []

    def entering() -> Iterator[Row]:
        for source, line, content in rows:
            row = Row(source, line, content, scorer)
            order.append(row)
            yield row

    left: Iterable[Row] = entering()
    counts: list[list] = []
    for rule in recipe.rules():
        counts.append([rule.name, 0, 0])
        left = _stage(rule, left, counts[-1], result.rejected, verdicts)
    for row in left:
        result.kept.append(row.scored())
        verdicts[id(row)] = _verdict(row, None, None)
    if missing := next((row for row in order if id(row) not in verdicts), None):
        raise UsageError(
            f"{missing.source}:{missing.line}: a rule neither kept nor dropped this row",
            "a rule gives back every row it takes; the fault lies in a plugin of the recipe",
        )
    result.verdicts = [verdicts[id(row)] for row in order]
    result.funnel = [(name, came, stayed) for name, came, stayed in counts]
    return result


def _stage(
    rule: Rule, rows: Iterable[Row], count: list, rejected: dict[str, list[Row]], verdicts: dict[int, Verdict]
) -> Iterator[Row]:
    def counted() -> Iterator[Row]:
        for row in rows:
            count[1] += 1
            yield row

    for row, reason in rule.apply(counted()):
        if reason is None:
            count[2] += 1
            yield row
        else:
            rejected.setdefault(rule.name, []).append(row)
            verdicts[id(row)] = _verdict(row, rule.name, reason)


def _verdict(row: Row, rule: str | None, reason: str | None) -> Verdict:
    known = row.trajectory
    return Verdict(
        source=row.source,
        line=row.line,
        task_id=known.task_id if known else None,
        attempt=known.attempt if known else None,
        keep=rule is None,
        rule=rule,
        reason=reason,
    )
