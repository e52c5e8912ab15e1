"""Cleaned rows -> an immutable dataset version.

ROOT/shards/<sha256>.parquet         rows, shared by all versions
ROOT/<name>/<version>/manifest.json  a selection over the shards, and everything needed to make it again
ROOT/<name>/<version>/README.md      dataset card
ROOT/<name>/<version>/recipes/       copies of the recipes used
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import structs

from redtogreen import __version__
from redtogreen.data.cleaning.writing import CleaningSummary
from redtogreen.data.datasets.dataset_card import render_card
from redtogreen.data.datasets.manifest import (
    SHARDS,
    BuiltFrom,
    Manifest,
    Selection,
    Shard,
    Split,
    check_name,
    manifest_bytes,
    number_of,
    read_manifest,
    shard_path,
    versions,
)
from redtogreen.data.datasets.splits import marked_eval, project_of, split_projects
from redtogreen.data.folders import content_hash, file_hash, locked, publish, sync, workplace
from redtogreen.data.seal import check_seal, sealed
from redtogreen.errors import UsageError
from redtogreen.records import Trajectory, decode
from redtogreen.records.canonical import canonical_json, canonical_trajectory
from redtogreen.store import disk_errors, write_atomic

INPUTS = ("kept.jsonl", "cleaning.json")
SPLITS = ("train", "eval")
_CLEAN_AGAIN = "clean again into a new folder with: redtogreen clean INPUT --out DIR"


@dataclass(slots=True)
class _Entry:
    """One cleaned row: where it lies, and what deciding about it needs."""

    offset: int
    length: int
    digest: str
    columns: dict[str, Any]
    for_evaluation: bool
    licence: str
    stages: Counter[str] = field(default_factory=Counter)


def build_dataset(cleaned: Path, name: str, root: Path, *, eval_share: float = 0.2, seed: int = 0) -> Manifest:
    """A new version `name/vN` under `root` from a folder written by `write_cleaned`; returns its manifest.

    The split is by project and drawn from `seed`; about `eval_share` of the rows, in [0, 1), is held out. When a
    version with the same hash exists it is given back with `reused` set and nothing is written.
    Safe beside other builds; a version is there whole or not at all. Raises UsageError for a folder without cleaned
    rows, with none, or with others than cleaning wrote, RecordError for a broken row, EnvironmentUnavailable for a full
    disk.
    """
    cleaned, root = Path(cleaned), Path(root)
    check_name(name)
    rows_file = cleaned / "kept.jsonl"
    if not rows_file.is_file():
        raise UsageError(
            f"{cleaned} holds no cleaned rows (kept.jsonl)", "make some with: redtogreen clean INPUT --out DIR"
        )
    entries = _index(rows_file)
    if not entries:
        raise UsageError(
            f"{rows_file} holds no rows: nothing to build from", "see cleaning.json beside it for the funnel"
        )
    split_of, notes = _splits(entries, eval_share, seed)
    with workplace(root / name, "version") as folder, disk_errors(root):
        splits, shards = _write_shards(folder / SHARDS, rows_file, entries, split_of)
        manifest = Manifest(
            name=name,
            version="",
            hash=_dataset_hash(entries, split_of),
            rows={split: part.rows for split, part in splits.items()},
            splits=splits,
            shards=shards,
            eval_share=float(eval_share),
            seed=seed,
            built_from=BuiltFrom(
                path=Path(os.path.relpath(os.path.realpath(cleaned), os.path.realpath(root))).as_posix(),
                files={file: content_hash(cleaned / file) for file in INPUTS},
            ),
            code=_code(),
            licences=dict(sorted(Counter(entry.licence for entry in entries).items())),
            counts=_counts(entries, split_of),
            outcomes=dict(sorted(Counter(entry.columns["outcome"] or "unjudged" for entry in entries).items())),
            statistics=_statistics(entries),
            notes=notes,
        )
        _copy_provenance(cleaned, folder / "new", manifest)
        return _publish(root, name, folder, manifest)


def _index(path: Path) -> list[_Entry]:
    """All rows in their stable order: by task, attempt, then content. Only figures are held, not the rows."""
    entries, offset = [], 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                row = decode(line, Trajectory, file=str(path), number=number)
                entries.append(_entry(row, offset, len(line)))
            offset += len(line)
    entries.sort(key=lambda entry: (entry.columns["task_id"], entry.columns["attempt"] or "", entry.digest))
    seen: Counter[str] = Counter()
    for entry in entries:
        short = entry.digest[:24]
        seen[short] += 1
        entry.columns["row_id"] = short if seen[short] == 1 else f"{short}-{seen[short]}"
    return entries


def _entry(row: Trajectory, offset: int, length: int) -> _Entry:
    from redtogreen.data.datasets.shards import columns_of

    licence = row.extra.get("license")
    return _Entry(
        offset=offset,
        length=length,
        digest=hashlib.sha256(canonical_json(canonical_trajectory(row))).hexdigest(),
        columns=columns_of(row, project_of(row)),
        for_evaluation=marked_eval(row),
        licence=licence if isinstance(licence, str) and licence else "not stated",
        stages=Counter(step.stage for step in row.trajectory),
    )


def _splits(entries: list[_Entry], eval_share: float, seed: int) -> tuple[dict[str, str], list[str]]:
    rows = Counter(entry.columns["project"] for entry in entries)
    marked = {entry.columns["project"] for entry in entries if entry.for_evaluation}
    return split_projects(rows, marked, eval_share, seed)


def _dataset_hash(entries: list[_Entry], split_of: dict[str, str]) -> str:
    whole = hashlib.sha256()
    for entry in entries:
        whole.update(f"{split_of[entry.columns['project']]} {entry.digest}\n".encode())
    return "sha256:" + whole.hexdigest()


def _write_shards(
    folder: Path, rows_file: Path, entries: list[_Entry], split_of: dict[str, str]
) -> tuple[dict[str, Split], dict[str, Shard]]:
    from redtogreen.data.datasets.shards import write_shards

    splits: dict[str, Split] = {}
    shards: dict[str, Shard] = {}
    with open(rows_file, "rb") as file:
        for split in SPLITS:
            chosen = [entry for entry in entries if split_of[entry.columns["project"]] == split]

            def texts(chosen: list[_Entry] = chosen) -> Iterator[tuple[dict[str, Any], bytes]]:
                for entry in chosen:
                    file.seek(entry.offset)
                    yield entry.columns, file.read(entry.length).strip()

            selection = []
            for shard, ids, size in write_shards(folder, texts()):
                selection.append(Selection(shard=shard, rows=ids))
                shards[shard] = Shard(rows=len(ids), bytes=size)
            splits[split] = Split(
                rows=len(chosen),
                tasks=len({entry.columns["task_id"] for entry in chosen}),
                projects=sorted({entry.columns["project"] for entry in chosen}),
                selection=selection,
            )
    return splits, shards


def _copy_provenance(cleaned: Path, target: Path, manifest: Manifest) -> None:
    """Take over what cleaning recorded: recipes, funnel and sources."""
    target.mkdir()
    path = cleaned / "cleaning.json"
    if not path.is_file():
        manifest.notes.append("the cleaned folder has no cleaning.json: recipes, funnel and sources are not known")
        return
    summary = decode(path.read_bytes(), CleaningSummary, file=str(path))
    check_seal(summary, path, _CLEAN_AGAIN)
    for file, expected in summary.files.items():
        if content_hash(cleaned / file) != expected:
            raise UsageError(f"{cleaned / file} changed after cleaning", _CLEAN_AGAIN)
    manifest.funnel, manifest.sources = summary.funnel, summary.sources
    for use, recipe in (("cleaning", summary.recipe), ("reward", summary.reward_recipe)):
        if recipe is None:
            continue
        copy = target / "recipes" / Path(recipe.file).name
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(cleaned / "recipes" / copy.name, copy)
        if file_hash(copy) != recipe.hash:
            raise UsageError(f"{cleaned / recipe.file} changed after cleaning", _CLEAN_AGAIN)
        manifest.recipes[use] = structs.replace(recipe, file=f"recipes/{copy.name}")


def _publish(root: Path, name: str, folder: Path, manifest: Manifest) -> Manifest:
    with locked(root / name):
        there = versions(root, name)
        for version in there:
            earlier = read_manifest(root / name / version)
            if earlier.hash == manifest.hash:
                return structs.replace(earlier, reused=True)
        manifest.version = f"v{max((number_of(version) or 0 for version in there), default=0) + 1}"
        for shard in manifest.shards:
            _place_shard(folder / SHARDS / f"{shard}.parquet", shard_path(root, shard))
        new = folder / "new"
        manifest = sealed(manifest)
        write_atomic(new / "manifest.json", manifest_bytes(manifest))
        write_atomic(new / "README.md", render_card(manifest).encode())
        publish(new, root / name / manifest.version)
    return manifest


def _place_shard(made: Path, target: Path) -> None:
    if target.exists() and file_hash(target) == f"sha256:{target.stem}":
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    sync(made)
    os.replace(made, target)
    sync(target.parent)


def _code() -> dict[str, str]:
    import pyarrow

    return {"redtogreen": __version__, "pyarrow": pyarrow.__version__}


def _counts(entries: list[_Entry], split_of: dict[str, str]) -> dict[str, int]:
    stages: Counter[str] = sum((entry.stages for entry in entries), Counter())
    return {
        "rows": len(entries),
        "solved": sum(entry.columns["success"] is True for entry in entries),
        "unsolved": sum(entry.columns["success"] is not True for entry in entries),
        "tasks": len({entry.columns["task_id"] for entry in entries}),
        "projects": len(split_of),
        "plan_steps": stages["plan"],
        "coding_steps": stages["coding"],
    }


def _statistics(entries: list[_Entry]) -> dict[str, dict[str, float | None]]:
    found = {}
    for name in ("reward", "steps"):
        numbers = [float(entry.columns[name]) for entry in entries if entry.columns[name] is not None]
        mean = math.fsum(numbers) / len(numbers) if numbers else None
        found[name] = {"mean": mean, "min": min(numbers, default=None), "max": max(numbers, default=None)}
    return found
