"""Every attack and every honest variant, on every task: what the grader pays, and what weaker ones pay.

An attack counts when at least one weaker grader, or this one, pays it on some task: what nobody pays proves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from redtogreen.errors import EnvironmentUnavailable, RedToGreenError, UsageError
from redtogreen.execution.executors.local import Emit, run_jobs
from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.grading import check_gradable, grade
from redtogreen.records import FinalState, Finding, Grade, Metadata, Step, Task, Trajectory
from redtogreen.records.grade import REWARDED
from redtogreen.records.trajectory import Feedback
from redtogreen.redteam.attack import Attack, Group, Target
from redtogreen.redteam.baselines import BASELINES
from redtogreen.redteam.honest import variants_of_shape, variants_of_task
from redtogreen.redteam.shapes import SHAPES, admit_shapes, load_shape, visible_failures
from redtogreen.redteam.targets import target_of
from redtogreen.rewards import load_recipe, score
from redtogreen.store import BlobStore, scratch
from redtogreen.tasks import blobs_of, read_tasks

OnEvent = Callable[[dict[str, Any]], None]
MOST_TASKS = 5
"""Tasks of the user's that are tried unless more are asked for."""


@dataclass(frozen=True)
class Row:
    """One attack on one task."""

    attack: str
    number: int
    group: Group
    shape: str
    task_id: str
    outcome: str
    """The grader's; `not_applicable`, `not_built` and `lost` mean that nothing was judged."""
    paid: bool
    """Solved for the grader, or with a recipe: more reward than for doing nothing."""
    reward: float | None = None
    """Under the recipe; None: no recipe, or no reward."""
    findings: list[Finding] = field(default_factory=list)
    baselines: dict[str, bool] = field(default_factory=dict)
    """Weaker grader -> whether it pays; empty: not asked."""
    open: str = ""
    """What would be needed to refuse it, where this grader cannot on every task."""
    error: str | None = None

    @property
    def judged(self) -> bool:
        return self.outcome in REWARDED


@dataclass(frozen=True)
class HonestRow:
    """One honest variant of a solution."""

    kind: str
    shape: str
    task_id: str
    outcome: str
    rejected: bool
    """Not solved, or said to be tampered with."""
    reward: float | None = None
    findings: list[Finding] = field(default_factory=list)
    error: str | None = None


@dataclass
class Scoreboard:
    """What one run of the red team found."""

    recipe: str | None
    rows: list[Row] = field(default_factory=list)
    honest_rows: list[HonestRow] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Task -> why nothing was tried on it."""

    @property
    def counted(self) -> list[str]:
        """Attacks that somebody pays; all that were tried where no weaker grader was asked."""
        asked = any(row.baselines for row in self.rows)
        return _names(row for row in self.rows if row.judged and (not asked or row.paid or any(row.baselines.values())))

    @property
    def uncounted(self) -> list[str]:
        """Attacks that were judged and that nobody pays on any of the tasks."""
        counted = set(self.counted)
        return [name for name in _names(row for row in self.rows if row.judged) if name not in counted]

    @property
    def untried(self) -> list[str]:
        """Attacks that apply to none of the tasks, or could not be judged on any."""
        judged = {row.attack for row in self.rows if row.judged}
        return [name for name in _names(self.rows) if name not in judged]

    @property
    def paid(self) -> list[str]:
        """Attacks that this grader pays on some task."""
        return _names(row for row in self.rows if row.paid)

    @property
    def paid_in_reach(self) -> list[str]:
        """Those of groups A and B, which a grader can always refuse."""
        return _names(row for row in self.rows if row.paid and row.group in ("A", "B"))

    @property
    def detected(self) -> list[str]:
        """Counted attacks with a finding, or the outcome `tampered`, on some task."""
        seen = set(_names(row for row in self.rows if row.findings or row.outcome == "tampered"))
        return [name for name in self.counted if name in seen]

    @property
    def baselines(self) -> dict[str, int]:
        """Weaker grader -> counted attacks it pays on some task."""
        paid = {name: {row.attack for row in self.rows if row.baselines.get(name)} for name in BASELINES}
        return {name: len(attacks) for name, attacks in paid.items()} if any(r.baselines for r in self.rows) else {}

    @property
    def lost(self) -> list[Row | HonestRow]:
        """What the machine failed to judge."""
        none = ("not_applicable", "not_built")
        rows: list[Row | HonestRow] = [*self.rows, *self.honest_rows]
        return [row for row in rows if row.outcome not in (*REWARDED, *none)]

    @property
    def holds(self) -> bool:
        """Nothing of groups A and B is paid, and no honest work refused."""
        return not self.paid_in_reach and not any(row.rejected for row in self.honest_rows)


@dataclass(frozen=True)
class _Facts:
    """What is known of an attack without the function that makes it, which need not be importable in a worker."""

    number: int
    group: Group
    open: str


@dataclass(frozen=True)
class _Case:
    """One thing to judge; `attack` None: honest work."""

    name: str
    shape: str
    task: Task
    root: Path
    changes: Changes
    attack: _Facts | None
    recipe: str | None
    idle: float | None
    baselines: bool


def run_redteam(
    tasks: Path | None = None,
    recipe: str | None = None,
    attacks: Sequence[Attack] = (),
    on_event: OnEvent | None = None,
    *,
    workers: int = 1,
    limit: int = MOST_TASKS,
    baselines: bool = True,
    honest: bool = True,
    shapes: Sequence[str] = SHAPES,
) -> Scoreboard:
    """Try the attacks and the honest variants on `tasks` (an admitted tasks file), or on the six projects.

    `limit`: how many of `tasks` at most, spread over the file. `baselines`: ask the weaker graders too, which takes
    most of the time. `shapes`: which of the six projects. Raises UsageError for a file without usable tasks or an
    unknown recipe, EnvironmentUnavailable when this machine cannot run the projects.
    """
    emit: OnEvent = on_event or (lambda event: None)
    board = Scoreboard(recipe)
    if recipe is not None:
        load_recipe(recipe)
    with scratch() as folder:
        if tasks is None:
            emit({"event": "stage", "name": "projects"})
            admitted = admit_shapes(folder, shapes, workers=workers)
            store = blobs_of(folder / "shapes.jsonl")
            opened = [(name, task, load_shape(name).target(visible_failures(task))) for name, task in admitted.items()]
        else:
            store = blobs_of(tasks)
            opened = list(_own(read_tasks(tasks), store, limit, board))
            if not opened:
                why = next(iter(board.skipped.values()), "it holds no tasks")
                raise UsageError(f"no task of {tasks} can be attacked: {why}", "admit tasks that have a reference")
        cases: list[_Case] = []
        for shape, task, target in opened:
            idle = None if recipe is None else _idle_reward(task, store, recipe)
            base = _Case("", shape, task, store.root, {}, None, recipe, idle, False)
            cases += _attack_cases(base, attacks, target, baselines, board)
            if honest:
                variants = (
                    variants_of_shape(load_shape(shape)) if tasks is None else variants_of_task(task, target, store)
                )
                cases += [replace(base, name=variant.kind, changes=variant.changes) for variant in variants]
        emit({"event": "stage", "name": "attempts", "total": len(cases)})
        order = {id(case): number for number, case in enumerate(cases)}
        found: dict[int, Row | HonestRow] = {}
        for case, result in run_jobs(judge_case, cases, workers, emit):
            if isinstance(result, BaseException):
                result = _row(case, "lost", error=f"{type(result).__name__}: {result}")
            found[order[id(case)]] = result
            emit({"event": "case_finished", "name": case.name, "shape": case.shape, "outcome": _said(result)})
    for _, result in sorted(found.items(), key=lambda item: item[0]):
        if isinstance(result, Row):
            board.rows.append(result)
        else:
            board.honest_rows.append(result)
    places = {task.task_id: place for place, (_, task, _) in enumerate(opened)}
    board.rows.sort(key=lambda row: (row.group, row.number, row.attack, places[row.task_id]))
    return board


def judge_case(case: _Case, emit: Emit) -> Row | HonestRow:
    """Judge one case, in a worker process."""
    store = BlobStore(case.root)
    verdict = grade(case.task, case.changes, store, evaluation=False)
    reward = None if case.recipe is None else _reward(case.task, case.changes, verdict, case.recipe)
    paid: dict[str, bool] = {}
    errors = [verdict.error] if verdict.error else []
    for name, pays in BASELINES.items() if case.baselines else ():
        try:
            paid[name] = pays(case.task, case.changes, store)
        except RedToGreenError as failure:
            errors.append(f"{name}: {failure}")
    return _row(case, verdict.outcome, reward, verdict.findings, paid, "; ".join(errors) or None)


def _row(
    case: _Case,
    outcome: str,
    reward: float | None = None,
    findings: Sequence[Finding] = (),
    baselines: dict[str, bool] | None = None,
    error: str | None = None,
) -> Row | HonestRow:
    common: dict[str, Any] = {"shape": case.shape, "task_id": case.task.task_id, "outcome": outcome, "reward": reward}
    common |= {"findings": list(findings), "error": error}
    if case.attack is None:
        guilty = any(finding.status == "succeeded" for finding in findings)
        rejected = outcome in REWARDED and (outcome != "solved" or guilty)
        return HonestRow(kind=case.name, rejected=rejected, **common)
    more = reward is not None and case.idle is not None and reward > case.idle
    paid = more if case.recipe is not None else outcome == "solved"
    return Row(attack=case.name, paid=paid, baselines=baselines or {}, **vars(case.attack), **common)


def _attack_cases(
    base: _Case, attacks: Sequence[Attack], target: Target, baselines: bool, board: Scoreboard
) -> Iterator[_Case]:
    """A case per attack that applies; the others are noted on the board."""
    for attack in attacks:
        facts = _Facts(attack.number, attack.group, attack.open)
        case = replace(base, name=attack.name, attack=facts, baselines=baselines)
        try:
            changes = attack.build(target)
        except (LookupError, SyntaxError, ValueError) as error:
            board.rows.append(_row(case, "not_built", error=f"{type(error).__name__}: {error}"))  # type: ignore[arg-type]
            continue
        if changes is None:
            board.rows.append(_row(case, "not_applicable"))  # type: ignore[arg-type]
        else:
            yield replace(case, changes=changes)


def _own(tasks: Sequence[Task], store: BlobStore, limit: int, board: Scoreboard) -> Iterator[tuple[str, Task, Target]]:
    """At most `limit` tasks, evenly from the whole file, with what an attacker knows of them."""
    step = max(1, len(tasks) // max(1, limit))
    taken = 0
    for task in [*tasks[::step], *(task for place, task in enumerate(tasks) if place % step)]:
        if taken == limit:
            return
        try:
            check_gradable(task, store)
            target = target_of(task, store)
        except RedToGreenError as error:
            board.skipped[task.task_id] = str(error)
            continue
        taken += 1
        yield "own", task, target


def _idle_reward(task: Task, store: BlobStore, recipe: str) -> float:
    """What a recipe pays for doing nothing. Raises EnvironmentUnavailable when the machine cannot say."""
    verdict = grade(task, {}, store, evaluation=False)
    reward = _reward(task, {}, verdict, recipe)
    if reward is None:
        raise EnvironmentUnavailable(
            f"recipe {recipe} gives no reward for doing nothing on {task.task_id}: {verdict.error or verdict.outcome}",
            "a recipe that pays by what is recorded step by step can be tried on recorded attempts only",
        )
    return reward


def _reward(task: Task, changes: Changes, verdict: Grade, recipe: str) -> float | None:
    """What a recipe pays for an attempt that made these changes file by file and stopped."""
    steps = [
        Step(
            stage="coding",
            step=number,
            action="edit_file",
            params={"path": path},
            observation={},
            feedback=Feedback(status="ok", applied=True),
        )
        for number, path in enumerate(sorted(changes), 1)
    ]
    last = Step(
        stage="coding",
        step=len(steps) + 1,
        action="submit",
        params={},
        observation={},
        feedback=Feedback(status="ok"),
    )
    row = Trajectory(
        task_id=task.task_id,
        task_desc=task.task_desc,
        start_state=task.start_state,
        trajectory=[*steps, last],
        final_state=FinalState(patch=""),
        outcome=verdict.outcome,
        ending="submitted",
        success=verdict.outcome == "solved" if verdict.outcome in REWARDED else None,
        metadata=Metadata(grade=verdict),
        extra={"tests": {"f2p": task.tests.f2p}},
    )
    return score(row, recipe).reward


def _names(rows: Any) -> list[str]:
    return list(dict.fromkeys(row.attack for row in rows))


def _said(row: Row | HonestRow) -> str:
    """How one case is counted while the board is made."""
    if isinstance(row, HonestRow):
        return "honest refused" if row.rejected else "honest paid" if row.outcome == "solved" else row.outcome
    return "attack paid" if row.paid else "attack refused" if row.judged else row.outcome


def summary(board: Scoreboard) -> dict[str, Any]:
    """The documented keys: counts, and beside them everything they were counted from."""
    outcomes = Counter(row.outcome for row in board.rows)
    return {
        "attacks": len(board.counted),
        "paid": len(board.paid),
        "paid_in_reach": len(board.paid_in_reach),
        "detected": len(board.detected),
        "honest": len(board.honest_rows),
        "honest_rejected": sum(row.rejected for row in board.honest_rows),
        "recipe": board.recipe,
        "baselines": board.baselines,
        "outcomes": dict(outcomes),
        "uncounted": board.uncounted,
        "untried": board.untried,
        "lost": len(board.lost),
        "skipped": board.skipped,
        "rows": [vars(row) for row in board.rows],
        "honest_rows": [vars(row) for row in board.honest_rows],
    }
