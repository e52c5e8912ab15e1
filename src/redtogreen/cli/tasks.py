"""`tasks`: make candidates, prove them, look at them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.display import lines_of, open_display
from redtogreen.cli.failures import keeps
from redtogreen.cli.options import Display, DisplayKind, Json, Seed, TasksFile, Workers
from redtogreen.cli.output import emit, lead, say

Out = Annotated[Path, typer.Option(metavar="F.jsonl", help="Tasks file to write.")]
One = Annotated[str, typer.Argument(metavar="G.jsonl#ID", help="One task; an unambiguous part of its id is enough.")]


def build(group: Callable[[str], typer.Typer]) -> typer.Typer:
    """The group `tasks`."""
    app = group("Tasks: make candidates from code, prove them, look at them.")
    make = group("Make candidate tasks from a source. Nothing of the project is run before they are counted.")
    make.command("mutate")(mutate)
    make.command("folder")(folder)
    app.add_typer(make, name="make")
    app.command("admit")(admit)
    app.command("list")(list_tasks)
    app.command("show")(show)
    app.command("unpack")(unpack)
    return app


def mutate(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Folder, git checkout or Python sdist that has tests.")],
    out: Out,
    candidates: Annotated[int, typer.Option(min=1, help="How many candidates to make.")] = 100,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Inject realistic bugs into code that has tests."""
    from redtogreen import pipeline

    _tell_made(pipeline.make_tasks("mutate", path, out, candidates=candidates, seed=seed), out, as_json)


def folder(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Start state: the code as an agent finds it.")],
    tests: Annotated[list[Path], typer.Option(metavar="PATH", help="Tests that decide; may be given several times.")],
    out: Out,
    reference: Annotated[Path | None, typer.Option(metavar="DIR", help="The same code, solved.")] = None,
    describe: Annotated[str | None, typer.Option(metavar="TEXT", help="What the agent is told.")] = None,
    as_json: Json = False,
) -> None:
    """One task from a folder of your own."""
    from redtogreen import pipeline

    names = [str(name) for name in tests]
    _tell_made(
        pipeline.make_tasks("folder", path, out, tests=names, reference=reference, describe=describe), out, as_json
    )


def admit(
    tasks: TasksFile,
    out: Out,
    workers: Workers = None,
    display: Display = DisplayKind.auto,
    as_json: Json = False,
) -> None:
    """Prove candidates in fresh sandboxes; rejects go to NAME.rejected.jsonl with reasons. Exit 1: none admitted."""
    from redtogreen import pipeline
    from redtogreen.insight.tables import funnel_table, reasons, table

    with (
        keeps("candidates judged so far are kept", "run the same command again to go on"),
        open_display(display, "candidates", lines_of(tasks)) as shown,
    ):
        report = pipeline.admit(tasks, out, workers=workers, on_event=shown.event)
    data = {
        "candidates": report.candidates,
        "admitted": report.admitted,
        "dropped": report.dropped,
        "cpu_seconds": report.cpu_seconds,
        "groups": report.groups,
        "projects": {name: vars(group) for name, group in report.projects.items()},
        "baselines": report.baselines,
        "out": out,
    }

    def text() -> str:
        parts = [funnel_table([("candidates", report.candidates), ("admitted", report.admitted)])]
        if report.groups:
            parts.append(table(list(report.groups[0]), [list(row.values()) for row in report.groups], left=2))
        dropped = [(name, reasons(group.dropped)) for name, group in report.projects.items() if group.dropped]
        if dropped:
            parts.append(table(["project", "dropped because"], dropped, left=2, limit=200))
        parts.append(f"{report.cpu_seconds:.1f} CPU seconds in sandboxes; written to {out}")
        return "\n\n".join(parts)

    emit(data, as_json, text)
    if not report.admitted:
        raise typer.Exit(1)
    lead(as_json, f"collect {out} --agent repair --out runs/first")


def list_tasks(tasks: TasksFile, as_json: Json = False) -> None:
    """One line per task."""
    from redtogreen import pipeline
    from redtogreen.insight.tables import table

    found = pipeline.load_tasks(tasks)
    rows = [
        {
            "task_id": task.task_id,
            "kind": task.kind,
            "source": task.source,
            "admitted": task.certificate is not None and task.certificate.proof == "full",
            "f2p": len(task.tests.f2p),
            "p2p": len(task.tests.p2p),
            "evaluation": len(task.tests.evaluation),
            "use": task.use,
        }
        for task in found
    ]
    head = ["task_id", "kind", "source", "admitted", "f2p", "p2p", "evaluation", "use"]

    def text() -> str:
        lines = [
            ["yes" if row[name] is True else "no" if row[name] is False else row[name] for name in head] for row in rows
        ]
        return table(head, lines, left=3, limit=240) + f"\n\n{len(rows)} tasks"

    emit({"tasks": rows}, as_json, text)
    if found:
        lead(as_json, f"tasks show {tasks}#{found[0].task_id}")


def show(task: One, as_json: Json = False) -> None:
    """A task with its description and tests, as its owner sees it: the reference included."""
    from redtogreen import pipeline
    from redtogreen.insight.tasks import task_text

    found = pipeline.find_task(task)
    emit({"task": found}, as_json, lambda: task_text(found))
    lead(as_json, f"tasks unpack {task} --out DIR")


def unpack(
    task: One,
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the files.")],
    as_json: Json = False,
) -> None:
    """Write the start state of a task as an agent sees it."""
    from redtogreen import pipeline

    written = pipeline.unpack(task, out)
    data = {"task_id": written.task_id, "files": written.files, "out": out}
    emit(data, as_json, lambda: f"{written.files} files in {out}")
    lead(as_json, f"grade --task {task} --workspace {out}")


def _tell_made(report, out: Path, as_json: bool) -> None:
    from redtogreen.insight.tables import counts_table

    data = {"candidates": report.candidates, "written": report.written, "dropped": report.dropped, "out": out}

    def text() -> str:
        asked = f" ({report.candidates} asked for)" if report.written != report.candidates else ""
        lines = [f"{report.written} candidates written to {out}{asked}"]
        if any(report.dropped.values()):
            lines += ["", counts_table("dropped because", report.dropped)]
        return "\n".join(lines)

    for note in report.notes:
        say(f"note: {note}")
    emit({**data, "notes": report.notes}, as_json, text)
    if report.written:
        lead(as_json, f"tasks admit {out} --out {out.with_name(out.stem + '.admitted.jsonl')}")
