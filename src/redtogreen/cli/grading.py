"""`grade`: what a workspace, a patch or a finished run achieved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.display import open_display
from redtogreen.cli.options import Display, DisplayKind, Json
from redtogreen.cli.output import emit, lead
from redtogreen.errors import UsageError


def add_to(app: typer.Typer) -> None:
    app.command("grade")(grade)


def grade(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="Grade every attempt of a run again.")] = None,
    task: Annotated[str | None, typer.Option(metavar="G.jsonl#ID", help="Task to grade against.")] = None,
    workspace: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder with the changed files.")] = None,
    patch: Annotated[Path | None, typer.Option(metavar="FILE", help="Unified diff from the start state.")] = None,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """Run the reward tests in a fresh sandbox. Exit 1: not solved; 3: the machine, not the work, is at fault."""
    if run is not None and task is workspace is patch is None:
        _grade_run(run, display, as_json)
        return
    if run is not None or task is None or (workspace is None) == (patch is None):
        raise UsageError(
            "grade wants either a RUN, or --task with one of --workspace and --patch",
            "for example: redtogreen grade --task G.jsonl#ID --patch fix.diff",
        )
    from redtogreen import pipeline
    from redtogreen.insight.grades import grade_data, grade_text, read_patch

    found = pipeline.grade(task, None if patch is None else read_patch(patch), workspace=workspace)
    emit(grade_data(found), as_json, lambda: grade_text(found))
    lead(as_json, f"tasks show {task}")
    if not found.resolved:
        raise typer.Exit(1 if found.outcome in ("failed", "tampered") else 3)


def _grade_run(run: Path, display: DisplayKind, as_json: bool) -> None:
    from redtogreen import pipeline
    from redtogreen.insight.grades import grade_data, grades_text
    from redtogreen.records.grade import REWARDED

    with open_display(display, "grades") as shown:
        grades = pipeline.grade_run(run, shown.event)
    outcomes: dict[str, int] = {}
    for found in grades:
        outcomes[found.outcome] = outcomes.get(found.outcome, 0) + 1
    data = {"run": run, "outcomes": outcomes, "grades": [grade_data(found) for found in grades]}
    emit(data, as_json, lambda: grades_text(grades))
    if grades and not set(outcomes) & set(REWARDED):
        raise typer.Exit(3)
    lead(as_json, f"report {run}")
