"""Which project goes into which split. A project is never in two."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction

from redtogreen.errors import RecordError, UsageError
from redtogreen.records import Trajectory


def project_of(trajectory: Trajectory) -> str:
    """The project a row's code comes from."""
    return trajectory.metadata.project or trajectory.task_id.split("/", 1)[0]


def marked_eval(trajectory: Trajectory) -> bool:
    """Whether the task of a row is for evaluation only."""
    use = trajectory.extra.get("use")
    if use not in (None, "train", "eval", "seed"):
        raise RecordError(
            f"task {trajectory.task_id}, attempt {trajectory.attempt}: extra.use is {use!r}",
            "it must be `train`, `eval` or `seed`",
        )
    return use == "eval"


def split_projects(
    rows: Mapping[str, int], evaluation: set[str], eval_share: float, seed: int
) -> tuple[dict[str, str], list[str]]:
    """(project -> `train` or `eval`, notes), given the rows per project and the projects marked for evaluation.

    Marked projects are always `eval`. Of the others, taken in an order drawn from the seed, those go to `eval` that
    still fit into `eval_share` of all rows; when none fits and there are at least two, the smallest one goes.
    `train` is never empty: raises UsageError when every project is marked.
    """
    if not 0 <= eval_share < 1:
        raise UsageError(f"eval share must be at least 0 and below 1, found {eval_share}")
    free = sorted(set(rows) - evaluation, key=lambda project: (_draw(seed, project), project))
    if rows and not free:
        raise UsageError(
            "every task is marked `eval`, so nothing may be trained on",
            "add tasks marked `train`; eval tasks are for `redtogreen evaluate`",
        )
    chosen = dict.fromkeys(rows, "train") | dict.fromkeys(evaluation, "eval")
    room = Fraction(repr(float(eval_share))) * sum(rows.values()) - sum(rows[project] for project in evaluation)
    notes = []
    taken = 0
    for project in free:
        if rows[project] <= room and taken < len(free) - 1:
            chosen[project] = "eval"
            room -= rows[project]
            taken += 1
    if eval_share and not evaluation and not taken:
        if len(free) > 1:
            smallest = min(free, key=lambda project: rows[project])
            chosen[smallest] = "eval"
            notes.append(
                f"no project fits into an eval share of {eval_share:g}; the smallest one, {smallest}, was taken"
            )
        elif free:
            notes.append("there is only one project, so nothing is held out; all rows are in train")
    return chosen, notes


def _draw(seed: int, project: str) -> str:
    return hashlib.sha256(f"{seed}/{project}".encode()).hexdigest()
