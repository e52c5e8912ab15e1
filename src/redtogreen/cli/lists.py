"""`list` and `sources`: what there is to choose from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.options import Json
from redtogreen.cli.output import emit, lead

_USED = {
    "agents": "collect G.jsonl --agent NAME --out RUN",
    "exports": "export NAME DATASET --out DIR",
    "operators": "tasks make mutate PATH --out F.jsonl",
    "recipes": "recipe show NAME",
    "rewards": "recipe list",
    "sources": "tasks make mutate PATH --out F.jsonl",
}
"""Kind -> the command that takes its names."""


def add_to(app: typer.Typer) -> None:
    app.command("list")(list_kind)
    app.command("sources")(sources)


def list_kind(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="agents, exports, filters, operators, recipes, rewards or sources."),
    ],
    as_json: Json = False,
) -> None:
    """Names of one kind, each with one line on what it is."""
    from redtogreen.insight.catalogue import entries
    from redtogreen.insight.tables import table

    found = entries(kind)
    rows = [(name, about) for name, about in found.items()]
    data = {"kind": kind, "names": list(found), "about": found}
    emit(data, as_json, lambda: table(["name", "what it is"], rows, left=2, limit=240))
    if kind in _USED:
        lead(as_json, _USED[kind])


def sources(
    tasks: Annotated[
        list[Path] | None, typer.Argument(metavar="[G.jsonl...]", help="Admitted tasks files to count as well.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What each source of tasks is good for, with the figures of your own tasks files."""
    from redtogreen import pipeline
    from redtogreen.insight.sources import sources_data, sources_text

    data = sources_data([task for path in tasks or [] for task in pipeline.load_tasks(path)])
    emit({"sources": data}, as_json, lambda: sources_text(data))
    lead(as_json, _USED["sources"])
