"""READ FIRST: the chain, wing by wing, in order; the only place that wires the wings together.

    make_tasks     material            -> candidate tasks        tasks/sources, mutation
    admit          candidates          -> proven tasks           tasks/admission, execution, grading
    collect        tasks x agent       -> recorded attempts      trajectories, grading
    score          attempts x recipe   -> rewards                rewards
    clean          attempts            -> kept and dropped       data/cleaning
    build_dataset  kept attempts       -> immutable version      data/datasets
    export         version             -> a trainer's files      data/exports

`redtogreen.chain` does all of it from one settings file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redtogreen.errors import TaskError, UsageError, nearest
from redtogreen.inputs import Reading, load_trajectories, open_rows
from redtogreen.records import Grade, Score, Task, Trajectory
from redtogreen.store import BlobStore

if TYPE_CHECKING:
    from redtogreen.data.cleaning import CleaningResult
    from redtogreen.data.datasets import Manifest
    from redtogreen.rewards import Recipe
    from redtogreen.tasks.admission import AdmitReport
    from redtogreen.tasks.sources import MakeReport
    from redtogreen.trajectories.collection import CollectReport, Replay

OnEvent = Callable[[dict[str, Any]], None]
SOURCES = ("mutate", "folder")


# 1. material -> candidate tasks


def make_tasks(
    source: str,
    path: Path | str,
    out: Path | str,
    *,
    candidates: int = 100,
    seed: int = 0,
    tests: Collection[str] = (),
    reference: Path | str | None = None,
    describe: str | None = None,
) -> MakeReport:
    """Candidate tasks from a source into the tasks file `out`; nothing of the project is run.

    `mutate` takes a folder, git checkout or sdist; `folder` takes a folder with `tests`, `reference` and `describe`.
    Raises UsageError for an unknown source, TaskError for a project that cannot be used.
    """
    from redtogreen.tasks.sources import make_folder_task, make_mutants

    if Path(out).exists():
        raise UsageError(f"{out} exists already", "nothing is overwritten: choose another file with --out")
    if source == "mutate":
        return make_mutants(Path(path), Path(out), candidates=candidates, seed=seed)
    if source == "folder":
        solved = None if reference is None else Path(reference)
        return make_folder_task(Path(path), Path(out), tests=list(tests), reference=solved, describe=describe)
    close = nearest(source, SOURCES)
    raise UsageError(
        f"unknown source {source!r}", (f"did you mean {close!r}? " if close else "") + "See: redtogreen sources"
    )


def load_tasks(path: Path | str) -> list[Task]:
    """Tasks of a tasks file. Raises UsageError for a missing file, RecordError naming file, line and field."""
    from redtogreen.tasks.files import blobs_of, read_tasks

    tasks = read_tasks(Path(path))
    if tasks and not blobs_of(Path(path)).root.is_dir():
        raise TaskError(
            f"{blobs_of(Path(path)).root} is missing: it holds the files of the tasks in {path}",
            "keep NAME.blobs/ beside NAME.jsonl when you move or copy a tasks file",
        )
    _opened[str(blobs_of(Path(path)).root)] = blobs_of(Path(path))
    return tasks


def find_task(name: str) -> Task:
    """The task `G.jsonl#ID` names; an unambiguous part of the id is enough."""
    return _find(name)[0]


_opened: dict[str, BlobStore] = {}


def _find(task: Task | str) -> tuple[Task, BlobStore]:
    """A task with the blobs it needs: named by file and id, or one that `load_tasks` gave."""
    if isinstance(task, str):
        from redtogreen.tasks.files import find_task as find

        return find(task)
    for store in _opened.values():
        if task.start_state.tree and store.has(task.start_state.tree):
            return task, store
    raise TaskError(
        f"no open tasks file holds the start state of {task.task_id}",
        "load its file first with load_tasks(), or name the task as FILE.jsonl#ID",
    )


@dataclass(frozen=True)
class Unpacked:
    """What `unpack` wrote."""

    task_id: str
    files: int


def unpack(name: str, out: Path | str) -> Unpacked:
    """Write the start state of a task, as an agent sees it, into a new folder."""
    from redtogreen.execution.trees import export_tree, load_tree

    task, store = _find(name)
    if task.start_state.tree is None:
        raise TaskError(f"task {task.task_id} names no start tree")
    tree = load_tree(task.start_state.tree, store)
    export_tree(tree, Path(out), store)
    return Unpacked(task.task_id, len(tree.entries))


# 2. candidates -> proven tasks


def admit(
    tasks: Path | str, out: Path | str, *, workers: int | None = None, on_event: OnEvent | None = None
) -> AdmitReport:
    """Prove candidates in fresh sandboxes; the proven ones go to `out`, the others beside it with reasons."""
    from redtogreen.tasks.admission import admit as prove
    from redtogreen.tasks.files import progress_path

    if Path(out).exists() and not progress_path(Path(out)).exists():
        raise UsageError(f"{out} exists already", "nothing is overwritten: choose another file with --out")
    return prove(Path(tasks), Path(out), workers=workers, on_event=on_event)


# 3. tasks x agent -> recorded attempts


def collect(
    tasks: Path | str,
    agent: str,
    out: Path | str,
    *,
    attempts: int = 3,
    workers: int | None = None,
    seed: int = 0,
    temperature: float | None = None,
    options: Mapping[str, str] | None = None,
    recipe: str = "default",
    on_event: OnEvent | None = None,
) -> CollectReport:
    """Let an agent work `attempts` times on every task; resumes when `out` holds a part of the same run."""
    from redtogreen.trajectories.collection import collect as run

    return run(
        Path(tasks),
        agent,
        Path(out),
        attempts=attempts,
        workers=workers,
        seed=seed,
        temperature=temperature,
        options=dict(options or {}),
        scorer=Scorer(str(recipe)),
        on_event=on_event,
    )


def evaluate(
    tasks: Path | str,
    agent: str,
    checkpoint: str,
    *,
    attempts: int = 1,
    workers: int | None = None,
    seed: int = 0,
    recipe: str = "default",
    out: Path | str | None = None,
    on_event: OnEvent | None = None,
) -> dict[str, Any]:
    """Reward and completion on held-out tests of one agent, as one row for the score/completion monitor."""
    from redtogreen.trajectories.collection import evaluate as measure

    return measure(
        Path(tasks),
        agent,
        checkpoint,
        attempts=attempts,
        workers=workers,
        seed=seed,
        scorer=Scorer(str(recipe)),
        out=None if out is None else Path(out),
        on_event=on_event,
    )


def grade(task: Task | str, patch: str | None = None, *, workspace: Path | str | None = None) -> Grade:
    """The grader's verdict on a unified diff, or on a folder, in a fresh sandbox.

    `task` is `G.jsonl#ID` or a Task of a file opened with `load_tasks`. A failure of the machine comes back as outcome
    `grader_error` or `environment_error`, never as `failed`. Raises as `grading.check_gradable`.
    """
    from redtogreen.grading import check_gradable, grade_patch, grade_workspace

    found, store = _find(task)
    if (patch is None) == (workspace is None):
        raise UsageError("grade wants either a patch or a workspace")
    check_gradable(found, store)
    if workspace is not None:
        return grade_workspace(found, Path(workspace), store)
    return grade_patch(found, patch or "", store)


def grade_run(run: Path | str, on_event: OnEvent | None = None) -> list[Grade]:
    """Grade the recorded workspace of every attempt of a run again, each in a fresh sandbox."""
    from redtogreen.trajectories.collection import grade_again

    return grade_again(Path(run), on_event)


def replay(run: Path | str, attempt: str, out: Path | str) -> Replay:
    """Play the recorded actions of one attempt in a fresh sandbox, recorded as a run of its own in `out`."""
    from redtogreen.trajectories.collection import replay as play

    return play(Path(run), attempt, Path(out))


def branch(
    run: Path | str,
    attempt: str,
    step: int,
    out: Path | str,
    *,
    agent: str | None = None,
    attempts: int = 3,
    workers: int | None = None,
    seed: int = 0,
    temperature: float | None = None,
    options: Mapping[str, str] | None = None,
    recipe: str = "default",
    on_event: OnEvent | None = None,
) -> CollectReport:
    """New attempts that go on after a step of a recorded one, as a run in `out`. agent: default that of the run."""
    from redtogreen.trajectories.collection import branch as go_on

    return go_on(
        Path(run),
        attempt,
        step,
        Path(out),
        agent=agent,
        attempts=attempts,
        workers=workers,
        seed=seed,
        temperature=temperature,
        options=options,
        scorer=Scorer(str(recipe)),
        on_event=on_event,
    )


# 4. attempts x recipe -> rewards


@dataclass(frozen=True)
class Scorer:
    """Scores trajectories with one recipe; can be sent to other processes."""

    recipe: str

    def __call__(self, trajectory: Trajectory) -> Score:
        return score(trajectory, self.recipe)


def load_recipe(name: str) -> Recipe:
    """A reward recipe by name or path."""
    from redtogreen.rewards import load_recipe as load

    return load(name)


def score(trajectory: Trajectory, recipe: Recipe | str = "default", *, without: Collection[str] = ()) -> Score:
    """The reward of one trajectory with its explanation, from stored data alone."""
    from redtogreen.rewards import score as compute

    return compute(trajectory, recipe, without=without)


def score_input(
    source: Path | str,
    recipe: str = "default",
    *,
    without: Collection[str] = (),
    out: Path | str | None = None,
    datasets: Path | str = Path("datasets"),
    reading: Reading | None = None,
) -> list[Score]:
    """Scores of every row of an input; a run folder keeps them in `rewards/<recipe>.parquet`, `out` as JSON lines."""
    from redtogreen.records import write_jsonl
    from redtogreen.trajectories.collection import is_run, keep_scores

    loaded = load_recipe(recipe)
    scores = [score(row, loaded, without=without) for row in load_trajectories(source, datasets, reading)]
    if out is not None:
        write_jsonl(Path(out), scores)
    elif is_run(Path(source)):
        keep_scores(Path(source), scores)
    return scores


# 5. attempts -> kept and dropped, 6. kept attempts -> dataset version, 7. version -> a trainer's files


def clean(
    source: Path | str,
    out: Path | str,
    *,
    recipe: str = "default",
    reward_recipe: str = "default",
    datasets: Path | str = Path("datasets"),
    reading: Reading | None = None,
) -> CleaningResult:
    """Pass every row of an input through a cleaning recipe; kept and rejected rows go to the new folder `out`."""
    from redtogreen.data.cleaning import clean as run
    from redtogreen.data.cleaning import load_cleaning_recipe, write_cleaned

    rewards = load_recipe(reward_recipe)
    result = run(
        open_rows(source, datasets, reading),
        load_cleaning_recipe(recipe),
        lambda trajectory: score(trajectory, rewards),
        reward_recipe=rewards,
    )
    write_cleaned(result, Path(out))
    return result


def build_dataset(
    cleaned: Path | str,
    name: str,
    root: Path | str = Path("datasets"),
    *,
    eval_share: float = 0.2,
    seed: int = 0,
) -> Manifest:
    """An immutable dataset version `name/vN` under `root` from a cleaned folder, split by project."""
    from redtogreen.data.datasets import build_dataset as build

    return build(Path(cleaned), name, Path(root), eval_share=eval_share, seed=seed)


def export(form: str, dataset: str, out: Path | str, root: Path | str = Path("datasets")) -> dict[str, Any]:
    """Write a dataset version as a trainer loads it; returns counts of rows taken, written and left out."""
    from redtogreen.data.datasets import load_dataset
    from redtogreen.data.exports import export as write

    return write(form, load_dataset(dataset, Path(root)).split_rows(), Path(out))
