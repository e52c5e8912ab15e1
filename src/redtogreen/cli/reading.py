"""`show` and `report`: looking at attempts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.options import DEFAULT_DATASETS, Datasets, Input, Json, Recipe, among, tell_reading
from redtogreen.cli.output import emit, lead


def add_to(app: typer.Typer) -> None:
    app.command("show")(show)
    app.command("report")(report)


def show(
    source: Input,
    attempt: Annotated[
        str, typer.Argument(metavar="ATTEMPT", help="Attempt id, an unambiguous part of it, or a row number.")
    ],
    recipe: Recipe = "default",
    datasets: Datasets = DEFAULT_DATASETS,
    as_json: Json = False,
) -> None:
    """One attempt step by step: action, answer, feedback, probe, reward."""
    from redtogreen import pipeline
    from redtogreen.insight.finding import find_attempt
    from redtogreen.insight.steps import trajectory_text

    found = find_attempt(lambda: pipeline.load_trajectories(source, datasets), attempt, source)
    score = pipeline.score(found, recipe)
    emit({"trajectory": found, "score": score}, as_json, lambda: trajectory_text(found, score))
    if Path(source).is_dir() and found.attempt:
        lead(as_json, f"replay {source} {found.attempt} --out DIR")
    else:
        lead(as_json, f"score {source}{among(datasets)}")


def report(
    source: Input,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write. Default: report.html in a run folder, else here."),
    ] = None,
    recipe: Recipe = "default",
    datasets: Datasets = DEFAULT_DATASETS,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page about a run, a dataset or a file, and print its tables."""
    from redtogreen import pipeline
    from redtogreen.insight.report import facts_of, write_report
    from redtogreen.insight.summary import facts_data, facts_text

    chosen = pipeline.load_recipe(recipe)
    reading = pipeline.Reading(go_on=True)
    rows = pipeline.load_trajectories(source, datasets, reading)
    facts = facts_of(source, rows, lambda row: pipeline.score(row, chosen))
    tell_reading(reading.moved, reading.broken)
    written = write_report(facts, out or (Path(source) if Path(source).is_dir() else Path()) / "report.html")
    emit({"report": written, **facts_data(facts)}, as_json, lambda: f"{facts_text(facts)}\n\nreport: {written}")
    if facts.attempts:
        lead(as_json, f"show {source} 1{among(datasets)}")
