"""`demo` and `run`: the whole chain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.display import open_display
from redtogreen.cli.failures import keeps
from redtogreen.cli.options import Display, DisplayKind, Json, Workers
from redtogreen.cli.output import emit


def add_to(app: typer.Typer) -> None:
    app.command("demo")(demo)
    app.command("run")(run)


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for everything the demo makes.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Everything drawn at random is derived from it.")] = 0,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """The whole chain on bundled material: no key, no Docker, no model, no network."""
    from redtogreen import chain

    settings = chain.demo_settings(out, seed)
    with (
        keeps(f"everything recorded so far is kept in {out}", "run the same command again to go on"),
        open_display(display, "candidates") as shown,
    ):
        report = chain.run_chain(settings, shown.event)
    emit(report.as_dict(), as_json, lambda: report.text)


def run(
    settings_file: Annotated[Path, typer.Argument(metavar="run.toml", help="Settings of the whole run.")],
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on in this folder instead of the one the file names.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the seed in the file.")] = None,
    workers: Workers = None,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """The whole chain as a run.toml says: tasks, attempts, rewards, cleaning, dataset, report."""
    from redtogreen import chain, config

    settings = config.load_settings(settings_file)
    if resume is not None:
        settings.out = str(resume)
    if seed is not None:
        settings.seed = seed
    if workers is not None:
        settings.collect.workers = workers
    with (
        keeps(f"everything recorded so far is kept in {settings.out}", "run the same command again to go on"),
        open_display(display, "candidates") as shown,
    ):
        report = chain.run_chain(settings, shown.event)
    emit(report.as_dict(), as_json, lambda: report.text)
