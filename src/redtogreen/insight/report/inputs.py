"""What lies beside an input and tells more about its attempts: tasks, rejects, cleaning results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from redtogreen.insight.facts import Facts, Scorer, gather
from redtogreen.records import Task, Trajectory


def facts_of(
    source: str | Path,
    rows: Iterable[Trajectory],
    scorer: Scorer,
    *,
    title: str | None = None,
    funnel: Sequence[tuple[str, int]] = (),
    dropped: Mapping[str, Mapping[str, int]] | None = None,
) -> Facts:
    """Facts of an input; a run folder's own tasks file tells operators, admitted tasks and rejects.

    `funnel` and `dropped` given by the caller win over what is found.
    """
    tasks: dict[str, Task] = {}
    found_funnel: list[tuple[str, int]] = []
    found_dropped: dict[str, dict[str, int]] = {}
    tasks_file = Path(source) / "tasks.jsonl"
    if tasks_file.is_file():
        from redtogreen.tasks.files import read_rejects, read_tasks

        tasks = {task.task_id: task for task in read_tasks(tasks_file)}
        rejects = Counter(reject.reason for reject in read_rejects(tasks_file))
        if rejects:
            found_funnel.append(("candidates", len(tasks) + rejects.total()))
            found_dropped["admission"] = dict(rejects)
        found_funnel.append(("admitted", len(tasks)))
    return gather(
        title or str(source),
        rows,
        scorer,
        tasks=tasks,
        funnel=funnel or found_funnel,
        dropped=dropped or found_dropped,
    )
