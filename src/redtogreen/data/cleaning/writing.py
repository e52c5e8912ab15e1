"""Write what cleaning decided.

OUT/kept.jsonl              rows that stay, with their rewards
OUT/rejected/<rule>.jsonl   rows that went, whole and unchanged; of invalid lines the raw line and the error
OUT/verdicts.jsonl          one verdict per input row, in input order
OUT/cleaning.json           recipe, rewards, counts, funnel, sources with their content hashes
OUT/recipes/*.toml          copies of the recipes
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from redtogreen import __version__
from redtogreen.data.cleaning.row import Row
from redtogreen.data.cleaning.running import CleaningResult
from redtogreen.data.folders import content_hash, new_folder
from redtogreen.data.seal import sealed
from redtogreen.records import encode, write_jsonl
from redtogreen.records.base import SCHEMA, Record
from redtogreen.store import disk_errors, write_atomic


class RecipeUse(Record, kw_only=True):
    """A recipe that was used, with its copy."""

    name: str
    version: int
    hash: str
    file: str
    """Path of the copy, relative to the folder this stands in."""


class FunnelStep(Record, kw_only=True):
    """How many rows came to a rule and how many it left."""

    rule: str
    rows_in: int
    rows_out: int


class Source(Record, kw_only=True):
    """A file or folder rows came from."""

    path: str
    """As it was given."""
    hash: str | None
    """Content hash; None: it was not found when the result was written."""
    rows: int


class CleaningSummary(Record, kw_only=True):
    """What `cleaning.json` holds."""

    schema: int = SCHEMA
    recipe: RecipeUse
    reward_recipe: RecipeUse | None
    total: int
    kept: int
    drop_rate: float
    dropped: dict[str, int]
    funnel: list[FunnelStep]
    sources: list[Source]
    files: dict[str, str | None] = {}
    """File -> content hash, of the rows and the verdicts."""
    verdicts: str = "verdicts.jsonl"
    code_version: str = __version__
    digest: str | None = None
    """`sha256:` over all other fields. None: written before there was one."""


def write_cleaned(result: CleaningResult, out: Path) -> Path:
    """Write a cleaning result as a folder, whole or not at all; returns the folder.

    Raises UsageError when `out` already holds something, EnvironmentUnavailable when the disk is full.
    """
    out = Path(out)
    with new_folder(out, "cleaning") as folder, disk_errors(out):
        write_jsonl(folder / "kept.jsonl", result.kept)
        write_jsonl(folder / "verdicts.jsonl", result.verdicts)
        for rule, rows in result.rejected.items():
            _write_rejected(folder / "rejected" / f"{rule}.jsonl", rows)
        summary = CleaningSummary(
            recipe=_copy(folder, f"cleaning-{result.recipe.name}", result.recipe),
            reward_recipe=_copy(folder, f"reward-{result.reward_recipe.name}", result.reward_recipe)
            if result.reward_recipe
            else None,
            total=result.total,
            kept=len(result.kept),
            drop_rate=result.drop_rate,
            dropped=result.dropped,
            funnel=[FunnelStep(rule=rule, rows_in=came, rows_out=left) for rule, came, left in result.funnel],
            sources=_sources(result),
            files={name: content_hash(folder / name) for name in ("kept.jsonl", "verdicts.jsonl")},
        )
        write_atomic(folder / "cleaning.json", msgspec.json.format(encode(sealed(summary)), indent=1) + b"\n")
    return out


def _copy(folder: Path, stem: str, recipe: Any) -> RecipeUse:
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in stem)
    write_atomic(folder / "recipes" / f"{name}.toml", recipe.text.encode())
    return RecipeUse(name=recipe.name, version=recipe.version, hash=recipe.digest, file=f"recipes/{name}.toml")


def _sources(result: CleaningResult) -> list[Source]:
    counts: dict[str, int] = {}
    for verdict in result.verdicts:
        counts[verdict.source] = counts.get(verdict.source, 0) + 1
    return [Source(path=path, hash=content_hash(Path(path)), rows=rows) for path, rows in counts.items()]


def _write_rejected(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = _raw_lines(row for row in rows if row.error is not None)
    with open(path, "wb") as file:
        for row in rows:
            if row.error is None:
                file.write(encode(row.content) + b"\n")
                continue
            entry: dict[str, Any] = {"source": row.source, "line": row.line, "error": row.error.message}
            content = raw.get((row.source, row.line))
            if content is None:
                entry["raw"] = None
            else:
                try:
                    entry["raw"] = content.decode()
                except UnicodeDecodeError:
                    entry["raw_base64"] = base64.b64encode(content).decode()
            file.write(msgspec.json.encode(entry) + b"\n")


def _raw_lines(rows: Iterable[Row]) -> dict[tuple[str, int], bytes]:
    """The lines that could not be read, from the files they stand in."""
    wanted: dict[str, set[int]] = {}
    for row in rows:
        wanted.setdefault(row.source, set()).add(row.line)
    found = {}
    for source, numbers in wanted.items():
        if not Path(source).is_file():
            continue
        with open(source, "rb") as file:
            for number, line in enumerate(file, 1):
                if number in numbers:
                    found[source, number] = line.rstrip(b"\r\n")
    return found
