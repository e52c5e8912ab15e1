"""Options that several commands share, so that one name means one thing everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.output import say
from redtogreen.errors import UsageError


class DisplayKind(StrEnum):
    """How progress is shown."""

    auto = "auto"
    rich = "rich"
    plain = "plain"
    json = "json"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Display = Annotated[
    DisplayKind,
    typer.Option(help="Progress on stderr: rich on a terminal, plain lines, or one JSON event per line."),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes at once. Default: one per core.")]
Seed = Annotated[int, typer.Option(help="Everything drawn at random is derived from it.")]
Recipe = Annotated[str, typer.Option(metavar="NAME|FILE", help="Reward recipe: a name, or a .toml file.")]
Input = Annotated[
    str, typer.Argument(metavar="INPUT", help="A run folder, a dataset (NAME or NAME/VERSION), or a FILE.jsonl.")
]
TasksFile = Annotated[Path, typer.Argument(metavar="G.jsonl", help="Tasks file; its blobs lie beside it.")]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Move unknown fields to `extra` and say so, instead of refusing the row.")
]
Datasets = Annotated[Path, typer.Option(metavar="DIR", help="Folder of datasets.")]
DEFAULT_DATASETS = Path("datasets")
TOLD = 10
"""Remarks of one kind that are printed."""


def among(datasets: Path) -> str:
    """The option that names the folder of datasets, where it has to be named."""
    return "" if datasets == DEFAULT_DATASETS else f" --datasets {datasets}"


def tell_reading(moved: list[str], broken: Sequence[Exception]) -> None:
    """Say which fields were moved and which rows left out."""
    for path in moved[:TOLD]:
        say(f"note: {path}: unknown field, moved to `extra`")
    for error in broken[:TOLD]:
        say(f"error: {error}")
    for count, what in ((len(moved), "unknown fields"), (len(broken), "broken rows")):
        if count > TOLD:
            say(f"note: and {count - TOLD} more {what}")


def pairs(words: list[str] | None) -> dict[str, str]:
    """`name=value` words as a mapping. Raises UsageError for a word without `=`."""
    found = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--option wants name=value, found {word!r}")
        found[name] = value
    return found
