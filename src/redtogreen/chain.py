"""The whole chain from one settings file: what `redtogreen run` and `redtogreen demo` do.

OUT/run.toml            the settings, resolved; runs again
OUT/tasks/              candidates, admitted tasks, rejects with reasons
OUT/run/                the collection: journal, blobs, attempts
OUT/cleaned/            kept and rejected rows
OUT/report.html

Every stage is skipped or continued when the folder already holds it. Dataset versions go to `dataset.root`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from redtogreen import pipeline
from redtogreen.config import ChainSettings, DatasetSettings, TaskSettings, to_toml
from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.sandboxes.backends import demand
from redtogreen.store import write_atomic
from redtogreen.tasks.files import join_tasks, progress_path, read_rejects, read_tasks

OnEvent = Callable[[dict[str, Any]], None]
DEMO_PROJECTS = ("shelf", "ledger")
DEMO_CANDIDATES = 7
"""Per project; about six of them turn out to be usable."""


@dataclass
class ChainReport:
    """What a whole run made."""

    out: str
    candidates: int = 0
    admitted: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> candidates dropped at admission."""
    attempts: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    kept: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    """Split -> rows of the dataset."""
    dataset: str = ""
    """NAME/VERSION."""
    hash: str = ""
    """Content hash of the dataset: the same for the same settings, whatever the clock said."""
    reused: bool = False
    """The same content was there already."""
    report: str = ""
    """The HTML page."""
    text: str = ""
    """All of it for a person: funnel, tables, one trajectory step by step, what to type next."""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "text"}


def run_chain(settings: ChainSettings, on_event: OnEvent | None = None) -> ChainReport:
    """Make, admit, collect, score, clean, build and report as the settings say.

    Raises UsageError when the folder holds a run with other settings, TaskError when no candidate was admitted,
    SandboxError when this machine does not enforce what the run requires.
    """
    demand(settings.collect.require)
    out = Path(settings.out)
    _keep_settings(settings, out)
    report = ChainReport(out=str(out))
    admitted = _tasks(settings, out / "tasks", report, on_event)
    collect = settings.collect
    if on_event is not None:
        on_event({"event": "stage", "name": "attempts", "total": report.admitted * collect.attempts})
    collected = pipeline.collect(
        admitted,
        collect.agent,
        out / "run",
        attempts=collect.attempts,
        workers=collect.workers,
        seed=settings.seed,
        temperature=collect.temperature,
        options=collect.options,
        recipe=settings.reward.recipe,
        on_event=on_event,
    )
    report.attempts, report.outcomes = collected.attempts, dict(collected.outcomes)
    scores = pipeline.score_input(out / "run", settings.reward.recipe)
    cleaned = _clean(settings, out)
    report.kept = len(cleaned)
    manifest = pipeline.build_dataset(
        out / "cleaned",
        settings.dataset.name,
        settings.dataset.root,
        eval_share=settings.dataset.eval_share,
        seed=settings.seed,
    )
    report.dataset, report.hash, report.reused = manifest.ref, manifest.hash, manifest.reused
    report.rows = dict(manifest.rows)
    _tell(settings, out, report, len(scores))
    return report


def demo_settings(out: Path | str, seed: int) -> ChainSettings:
    """The chain over the bundled projects: the next unused folder under `out`, or the one a stopped demo left."""
    base = Path(out)
    number = 1
    while (base / str(number) / "report.html").exists():
        number += 1
    return ChainSettings(
        seed=seed,
        out=str(base / str(number)),
        tasks=[
            TaskSettings(source="mutate", path=str(bundled(project)), candidates=DEMO_CANDIDATES)
            for project in DEMO_PROJECTS
        ],
        dataset=DatasetSettings(name="demo", root=str(base / "datasets"), eval_share=0.5),
    )


def bundled(project: str) -> Path:
    """Folder of a bundled project: inside an installed package, or `examples/projects` of a checkout."""
    package = Path(str(resources.files("redtogreen")))
    for place in (package / "examples" / project, package.parents[1] / "examples" / "projects" / project):
        if place.is_dir():
            return place
    raise TaskError(f"the bundled project {project!r} is missing", "install redtogreen again")


def _keep_settings(settings: ChainSettings, out: Path) -> None:
    """Write run.toml once; later runs in the same folder must agree with it."""
    file, text = out / "run.toml", to_toml(settings)
    if not file.exists():
        write_atomic(file, text.encode(), durable=True)
        return
    if file.read_text("utf-8") == text:
        return
    kept, asked = tomllib.loads(file.read_text("utf-8")), msgspec.to_builtins(settings)
    names = sorted(name for name in asked if kept.get(name) != tomllib.loads(text).get(name))
    raise UsageError(
        f"{out} holds a run with other settings: {', '.join(names)} differ from {file}",
        "choose another folder, or use the settings of that file",
    )


def _tasks(settings: ChainSettings, folder: Path, report: ChainReport, on_event: OnEvent | None) -> Path:
    """Candidates of every source, proven, in one tasks file."""
    files = []
    emit = on_event or (lambda event: None)
    for number, source in enumerate(settings.tasks, 1):
        candidates = folder / f"{number}-{source.source}.jsonl"
        if not candidates.exists():
            pipeline.make_tasks(
                source.source,
                source.path,
                candidates,
                candidates=source.candidates,
                seed=settings.seed,
                tests=source.tests,
                reference=source.reference,
                describe=source.describe,
            )
        files.append(candidates)
    together = folder / "candidates.jsonl"
    if not together.exists():
        join_tasks(files, together)
    admitted = folder / "admitted.jsonl"
    emit({"event": "stage", "name": "candidates", "total": sum(source.candidates for source in settings.tasks)})
    if not admitted.exists() or progress_path(admitted).exists():
        pipeline.admit(together, admitted, workers=settings.collect.workers, on_event=on_event)
    report.admitted = len(read_tasks(admitted))
    report.dropped = dict(Counter(reject.reason for reject in read_rejects(admitted)))
    report.candidates = report.admitted + sum(report.dropped.values())
    if not report.admitted:
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(report.dropped.items()))
        raise TaskError(f"none of {report.candidates} candidates was admitted: {reasons}", f"see {folder}")
    return admitted


def _clean(settings: ChainSettings, out: Path) -> list[Any]:
    target = out / "cleaned"
    if target.exists():  # written whole or not at all, from a finished run
        return list(pipeline.load_trajectories(target))
    return pipeline.clean(out / "run", target, recipe=settings.clean.recipe, reward_recipe=settings.reward.recipe).kept


def _tell(settings: ChainSettings, out: Path, report: ChainReport, scored: int) -> None:
    from redtogreen.insight.report import facts_of, write_report
    from redtogreen.insight.steps import trajectory_text
    from redtogreen.insight.summary import facts_text

    recipe = pipeline.load_recipe(settings.reward.recipe)
    funnel = [
        ("candidates", report.candidates),
        ("admitted", report.admitted),
        ("kept", report.kept),
        ("rows", sum(report.rows.values())),
    ]
    facts = facts_of(
        out / "run",
        pipeline.load_trajectories(out / "run"),
        lambda row: pipeline.score(row, recipe),
        title=f"{settings.dataset.name}: {', '.join(sorted({_name(source) for source in settings.tasks}))}",
        funnel=funnel,
        dropped={"admission": report.dropped, "cleaning": _cleaning_drops(out)},
    )
    report.report = str(write_report(facts, out / "report.html"))
    parts = [facts_text(facts)]
    if facts.shown:
        parts.append("One attempt, step by step:\n\n" + trajectory_text(*facts.shown[0]))
    splits = ", ".join(f"{count} {split}" for split, count in sorted(report.rows.items()))
    again = " (the same content was there already)" if report.reused else ""
    parts.append(
        f"run      {out / 'run'}  ({scored} attempts scored with recipe {settings.reward.recipe})\n"
        f"dataset  {report.dataset} in {settings.dataset.root}: {splits}{again}\n"
        f"hash     {report.hash}\n"
        f"report   {report.report}"
    )
    root, command = settings.dataset.root, _command()
    parts.append(
        "Type next:\n"
        f"  {command} show {out / 'run'} 1\n"
        f"  {command} dataset show {report.dataset} --datasets {root}\n"
        f"  {command} export trl-sft {report.dataset} --datasets {root} --out {out / 'exported'}\n"
        f"  {command} tasks make mutate path/to/your/project --candidates 40 --out tasks.jsonl"
    )
    report.text = "\n\n".join(parts)


def _command() -> str:
    """How the program is called from here: by its name when it is on the path, else by where it lies."""
    if shutil.which("redtogreen"):
        return "redtogreen"
    program = Path(sys.executable).parent / "redtogreen"
    near = os.path.relpath(program)
    return str(program) if near.startswith("..") else near


def _name(source: TaskSettings) -> str:
    return Path(source.path).name


def _cleaning_drops(out: Path) -> dict[str, int]:
    rejected = out / "cleaned" / "rejected"
    counts = Counter({file.stem: len(file.read_bytes().splitlines()) for file in sorted(rejected.glob("*.jsonl"))})
    return dict(counts)
