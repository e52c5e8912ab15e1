"""`redteam`: attacks on the grader and honest work that looks unusual, on bundled projects or on the user's tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.display import open_display
from redtogreen.cli.options import Display, DisplayKind, Json, Workers
from redtogreen.cli.output import emit
from redtogreen.errors import UsageError, nearest

Tasks = Annotated[
    Path | None, typer.Argument(metavar="[TASKS]", help="Admitted tasks file. Default: six bundled projects.")
]
Recipe = Annotated[
    str | None,
    typer.Option(metavar="NAME|FILE", help="Paid then means: this recipe gives more than for doing nothing."),
]
Only = Annotated[
    list[str] | None, typer.Option("--attack", metavar="NAME", help="Only this attack; may be given several times.")
]


def add_to(app: typer.Typer) -> None:
    app.command("redteam")(redteam)


def redteam(
    tasks: Tasks = None,
    recipe: Recipe = None,
    attack: Only = None,
    shape: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this bundled project; may be given several times.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many of TASKS, spread over the file.")] = 5,
    baselines: Annotated[
        bool, typer.Option(help="Also ask weaker graders, which shows what the attacks can do and takes longest.")
    ] = True,
    honest: Annotated[bool, typer.Option(help="Also grade honest work that looks unusual.")] = True,
    workers: Workers = None,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """Attack the grader. Exit 1: an attack of group A or B is paid, or honest work refused; 3: nothing was judged."""
    import os

    from redtogreen.insight.redteam import scoreboard_text
    from redtogreen.redteam.corpus import ATTACKS
    from redtogreen.redteam.scoreboard import run_redteam, summary
    from redtogreen.redteam.shapes import SHAPES, load_shape

    known = {one.name: one for one in ATTACKS}
    for name in attack or []:
        if name not in known:
            close = nearest(name, list(known))
            raise UsageError(f"unknown attack {name!r}", f"did you mean {close!r}?" if close else None)
    chosen = [known[name] for name in attack] if attack else list(ATTACKS)
    shapes = [load_shape(name).name for name in dict.fromkeys(shape or SHAPES)]
    with open_display(display, "projects") as shown:
        board = run_redteam(
            tasks,
            recipe,
            chosen,
            shown.event,
            workers=workers or max(1, os.cpu_count() or 1),
            limit=limit,
            baselines=baselines,
            honest=honest,
            shapes=shapes,
        )
    emit(summary(board), as_json, lambda: scoreboard_text(board))
    if not board.holds:
        raise typer.Exit(1)
    if board.lost and not any(row.judged for row in board.rows):
        raise typer.Exit(3)
