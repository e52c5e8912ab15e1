"""`collect`, `evaluate`, `replay`, `branch`: agents at work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redtogreen.cli.display import lines_of, open_display
from redtogreen.cli.failures import keeps
from redtogreen.cli.options import Display, DisplayKind, Json, Recipe, Seed, TasksFile, Workers, pairs
from redtogreen.cli.output import emit, lead, say

if TYPE_CHECKING:
    from redtogreen.trajectories.collection import CollectReport

Agent = Annotated[str, typer.Option(metavar="NAME", help="Agent: see `redtogreen list agents`.")]
Option = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Option of the agent; may be given several times.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Attempt = Annotated[
    str, typer.Argument(metavar="ATTEMPT", help="Attempt id, an unambiguous part of it, or a row number.")
]


def add_to(app: typer.Typer) -> None:
    app.command("collect")(collect)
    app.command("evaluate")(evaluate)
    app.command("replay")(replay)
    app.command("branch")(branch)


def collect(
    tasks: TasksFile,
    agent: Agent,
    out: Annotated[Path, typer.Option(metavar="RUN", help="Run folder; the same command again goes on in it.")],
    attempts: Annotated[int, typer.Option(min=1, help="Attempts per task.")] = 3,
    workers: Workers = None,
    seed: Seed = 0,
    temperature: Annotated[float | None, typer.Option(min=0.0, help="Default: the agent's own.")] = None,
    option: Option = None,
    recipe: Recipe = "default",
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="GUARANTEE", help="Refuse to run where this does not hold; see `redtogreen doctor`."),
    ] = None,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """Let an agent work on every task and record all of it. Exit 3: no attempt could be judged."""
    from redtogreen import pipeline
    from redtogreen.execution.sandboxes.backends import demand

    demand(require or [])
    with (
        keeps(f"every step recorded so far is kept in {out}", "run the same command again to go on"),
        open_display(display, "attempts", None if out.exists() else lines_of(tasks, attempts)) as shown,
    ):
        report = pipeline.collect(
            tasks,
            agent,
            out,
            attempts=attempts,
            workers=workers,
            seed=seed,
            temperature=temperature,
            options=pairs(option),
            recipe=recipe,
            on_event=shown.event,
        )
    _show(report, out, as_json)


def _show(report: CollectReport, out: Path, as_json: bool) -> None:
    from redtogreen.insight.tables import counts_table
    from redtogreen.records.grade import REWARDED

    for place in report.damage:
        say(f"warning: {place}")
    data = {"attempts": report.attempts, "outcomes": report.outcomes, "run": report.run}
    emit(
        data,
        as_json,
        lambda: f"{counts_table('outcome', report.outcomes)}\n\n{report.attempts} attempts in {report.run}",
    )
    if report.outcomes and not set(report.outcomes) & set(REWARDED):
        say(f"error: no attempt could be judged; see why with: redtogreen show {out} 1")
        raise typer.Exit(3)
    lead(as_json, f"report {out}", f"clean {out} --out {out}.cleaned")


def evaluate(
    tasks: TasksFile,
    agent: Agent,
    checkpoint: Annotated[str, typer.Option(metavar="ID", help="Name of what is measured; stands in the result.")],
    recipe: Recipe = "default",
    attempts: Annotated[int, typer.Option(min=1, help="Attempts per task.")] = 1,
    workers: Workers = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="RUN", help="Keep the run in this folder.")] = None,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """Measure an agent on evaluation tests: prints one JSON line with checkpoint, reward, completion, n, interval."""
    from redtogreen import pipeline

    kept = f"every step recorded so far is kept in {out}" if out else "stopped by Ctrl-C; nothing was asked to be kept"
    again = "run the same command again to go on" if out else "give --out RUN to be able to go on"
    with keeps(kept, again), open_display(display, "attempts", lines_of(tasks, attempts)) as shown:
        result = pipeline.evaluate(
            tasks,
            agent,
            checkpoint,
            attempts=attempts,
            workers=workers,
            seed=seed,
            recipe=recipe,
            out=out,
            on_event=shown.event,
        )
    emit(result, True, str)
    if out is not None:
        lead(False, f"report {out}")


def replay(
    run: RunFolder,
    attempt: Attempt,
    out: Annotated[Path, typer.Option(metavar="RUN", help="Run folder of the replay.")],
    as_json: Json = False,
) -> None:
    """Play the recorded actions of an attempt in a fresh sandbox. Exit 1: an answer or the outcome differs."""
    from redtogreen import pipeline
    from redtogreen.insight.tables import table

    with keeps(f"every step recorded so far is kept in {out}"):
        report = pipeline.replay(run, attempt, out)
    data = {
        "attempt": report.attempt,
        "steps": report.steps,
        "same": report.same,
        "outcome": report.outcome,
        "recorded_outcome": report.recorded_outcome,
        "differences": report.differences,
    }

    def text() -> str:
        lines = [
            f"{report.attempt}: {report.steps} steps, outcome {report.outcome}, recorded {report.recorded_outcome}"
        ]
        if report.differences:
            lines += [
                "",
                table(["step", "what differs"], [[item["step"], item["what"]] for item in report.differences], left=2),
            ]
        return "\n".join(lines)

    emit(data, as_json, text)
    lead(as_json, f"show {out} 1")
    if not report.same:
        raise typer.Exit(1)


def branch(
    run: RunFolder,
    attempt: Attempt,
    step: Annotated[
        int, typer.Argument(metavar="STEP", min=0, help="The last step that is shared; 0: the start of the task.")
    ],
    out: Annotated[Path, typer.Option(metavar="RUN", help="Run folder; the same command again goes on in it.")],
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who goes on. Default: the run's agent, with its options.")
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="Attempts to make.")] = 3,
    workers: Workers = None,
    seed: Seed = 0,
    temperature: Annotated[float | None, typer.Option(min=0.0, help="Default: the run's.")] = None,
    option: Option = None,
    recipe: Recipe = "default",
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """Make new attempts that go on after a step of a recorded one. Exit 3: no attempt could be judged."""
    from redtogreen import pipeline

    with (
        keeps(f"every step recorded so far is kept in {out}", "run the same command again to go on"),
        open_display(display, "attempts", None if out.exists() else attempts) as shown,
    ):
        report = pipeline.branch(
            run,
            attempt,
            step,
            out,
            agent=agent,
            attempts=attempts,
            workers=workers,
            seed=seed,
            temperature=temperature,
            options=pairs(option) if option else None,
            recipe=recipe,
            on_event=shown.event,
        )
    _show(report, out, as_json)
