"""What travels through a cleaning recipe: one input row with where it came from and its score."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from redtogreen.records import RowError, Score, Trajectory

Scorer = Callable[[Trajectory], Score]


class Row:
    """One line of the input. Exactly one of `trajectory` and `error` is set."""

    __slots__ = ("_scorer", "error", "line", "score_", "source", "trajectory")

    def __init__(self, source: str, line: int, content: Trajectory | RowError, scorer: Scorer):
        self.source, self.line = str(source), line
        self.error = content if isinstance(content, RowError) else None
        self.trajectory = None if isinstance(content, RowError) else content
        self.score_: Score | None = None
        self._scorer = scorer

    @property
    def content(self) -> Trajectory:
        """The trajectory; rules that read it stand after `invalid`."""
        assert self.trajectory is not None, "the first rule of every recipe is `invalid`"
        return self.trajectory

    @property
    def score(self) -> Score:
        """The reward, computed once, when the first rule asks."""
        if self.score_ is None:
            self.score_ = self._scorer(self.content)
        return self.score_

    def scored(self) -> Trajectory:
        """The trajectory with `reward` and `rewards` as just computed; the input object stays as it was."""
        return structs.replace(
            self.content,
            reward=self.score.reward,
            rewards={component.name: component.value for component in self.score.components},
        )


def solved(trajectory: Trajectory) -> bool:
    """Whether an attempt solved its task, by its outcome, else by `success`."""
    if trajectory.outcome is not None:
        return trajectory.outcome == "solved"
    return trajectory.success is True
