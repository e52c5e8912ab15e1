"""Keep a stated share of unsolved attempts: the representative ones stay."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from redtogreen.data.cleaning.row import Row, solved
from redtogreen.records import Trajectory, views


@dataclass(frozen=True)
class FailuresShare:
    """Unsolved attempts may make up at most `share` of the rows that stay, in [0, 1].

    Those that stay are spread over tasks first and over ways to fail second, earlier rows first.
    """

    share: float = 0.5
    name = "failures_share"

    def __post_init__(self) -> None:
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 <= self.share <= 1:
            raise ValueError(f"`share` must be a number from 0 to 1, found {self.share!r}")

    def apply(self, rows: Iterable[Row]) -> Iterator[tuple[Row, str | None]]:
        rows = list(rows)
        failures = [index for index, row in enumerate(rows) if not solved(row.content)]
        most = allowed_failures(len(rows) - len(failures), self.share)
        kept = set(failures) if most is None else set(representative(rows, failures, most))
        reason = (
            f"unsolved, and {len(kept)} unsolved beside {len(rows) - len(failures)} solved rows are the most "
            f"that a share of {self.share:g} allows; others stand for it"
        )
        dropped = set(failures) - kept
        for index, row in enumerate(rows):
            yield row, reason if index in dropped else None


def allowed_failures(solved_rows: int, share: float) -> int | None:
    """The largest f with f / (f + solved_rows) <= share; None: any number."""
    exact = Fraction(repr(float(share)))
    return None if exact == 1 else int(solved_rows * exact / (1 - exact))


def failure_mode(trajectory: Trajectory) -> tuple[str, ...]:
    """How an attempt failed, coarsely: outcome, ending, last failure stage seen, whether it edited and tested."""
    probes = [step.probe for step in trajectory.trajectory if step.probe is not None]
    return (
        trajectory.outcome or "unjudged",
        trajectory.ending or "unknown",
        (probes[-1].failure_stage or "unknown") if probes else "unprobed",
        "edited" if any(views.applied(step) or step.diff for step in trajectory.trajectory) else "unedited",
        "tested" if any(views.is_test_run(step) for step in trajectory.trajectory) else "untested",
    )


def representative(rows: list[Row], candidates: list[int], most: int) -> list[int]:
    """At most `most` of the candidate indexes: always one of the task, then of the mode, taken least so far."""
    queues: dict[tuple[str, tuple[str, ...]], deque[int]] = defaultdict(deque)
    for index in candidates:
        queues[rows[index].content.task_id, failure_mode(rows[index].content)].append(index)
    tasks: Counter[str] = Counter()
    modes: Counter[tuple[str, ...]] = Counter()
    heap = [(0, 0, queue[0], group) for group, queue in queues.items()]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < most:
        entry = heapq.heappop(heap)
        group = entry[3]
        now = (tasks[group[0]], modes[group[1]], queues[group][0], group)
        if now != entry:  # counts only grow, so an outdated entry is at worst too early
            heapq.heappush(heap, now)
            continue
        chosen.append(queues[group].popleft())
        tasks[group[0]] += 1
        modes[group[1]] += 1
        if queues[group]:
            heapq.heappush(heap, (tasks[group[0]], modes[group[1]], queues[group][0], group))
    return chosen
