"""Two questions about versions: what changed between two, and does one still come out the same."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redtogreen.data.datasets.building import build_dataset
from redtogreen.data.datasets.manifest import Manifest, shard_path
from redtogreen.data.datasets.reading import Dataset, load_dataset
from redtogreen.data.folders import content_hash, workplace
from redtogreen.data.seal import broken

_CONTENT = sorted(
    set(Manifest.__struct_fields__) - {"schema", "name", "version", "built_from", "code", "digest", "reused"}
)
"""Fields of a manifest that come out the same when it is made again."""


class Comparison(msgspec.Struct, kw_only=True):
    """What rebuilding a version found."""

    ref: str
    how: str
    """`rebuilt`: made again from the cleaned rows; `verified`: those are gone, only the files could be checked."""
    same: bool
    """Nothing differs: all of the manifest and the shard bytes when rebuilt; its digest and they when verified."""
    hash: str
    found_hash: str | None
    """None when only verified."""
    shards: dict[str, str]
    """Shard -> `same`, `missing`, `damaged` or `not made again`."""
    notes: list[str] = []


class DatasetDiff(msgspec.Struct, kw_only=True):
    """What lies in the second version and not in the first, and the other way round."""

    first: str
    second: str
    same: bool
    rows: dict[str, list[int]]
    """Split -> rows in the first, rows in the second."""
    added: list[str]
    """`task_id` or `task_id attempt` of rows only the second holds."""
    removed: list[str]
    changed: list[str]
    """In both, with different content, for example another reward."""
    moved: list[str]
    """In both, in another split."""
    settings: dict[str, list]
    """Setting or recipe that differs -> its value in the first, in the second."""


def rebuild(ref: str, root: Path) -> Comparison:
    """Make a version again from its manifest, in a temporary folder, and compare byte for byte.

    When the cleaned folder is gone or has changed, the stored files are checked against the manifest instead, and
    the notes say so. The stored version is never touched.
    """
    dataset = load_dataset(ref, root, altered=True)
    manifest, root = dataset.manifest, dataset.root
    altered = broken(manifest)
    stored = {shard: _stored_state(root, shard) for shard in manifest.shards}
    cleaned = root / manifest.built_from.path
    notes = []
    for file, expected in manifest.built_from.files.items():
        found = content_hash(cleaned / file)
        if found != expected:
            state = "is gone" if found is None else "is not what the version was made of"
            notes.append(f"{manifest.built_from.path}/{file} {state}; only the stored files were checked")
    if altered:
        notes.insert(0, "manifest.json was changed after it was written: its digest does not fit")
    if len(notes) > altered:
        same = all(state == "same" for state in stored.values()) and not altered
        return Comparison(
            ref=manifest.ref, how="verified", same=same, hash=manifest.hash, found_hash=None, shards=stored, notes=notes
        )
    with workplace(root, "rebuild") as folder:
        again = build_dataset(cleaned, manifest.name, folder, eval_share=manifest.eval_share, seed=manifest.seed)
    for shard, state in stored.items():
        if state == "same" and shard not in again.shards:
            stored[shard] = "not made again"
    for package, version in manifest.code.items():
        if again.code.get(package) != version:
            notes.append(f"made with {package} {version}, now {again.code.get(package)}: bytes may differ")
    differing = [name for name in _CONTENT if getattr(again, name) != getattr(manifest, name)]
    notes += [f"`{name}` in manifest.json is not what comes out again" for name in differing]
    same = all(state == "same" for state in stored.values()) and not differing and not altered
    return Comparison(
        ref=manifest.ref,
        how="rebuilt",
        same=same,
        hash=manifest.hash,
        found_hash=again.hash,
        shards=stored,
        notes=notes,
    )


def diff(first: str, second: str, root: Path) -> DatasetDiff:
    """What changed from one version to another, by task and attempt."""
    old, new = load_dataset(first, root), load_dataset(second, root)
    before, after = _rows_of(old), _rows_of(new)
    both = before.keys() & after.keys()
    return DatasetDiff(
        first=old.manifest.ref,
        second=new.manifest.ref,
        same=old.manifest.hash == new.manifest.hash,
        rows={
            split: [old.manifest.rows.get(split, 0), new.manifest.rows.get(split, 0)]
            for split in dict.fromkeys([*old.manifest.rows, *new.manifest.rows])
        },
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        changed=sorted(key for key in both if before[key][1] != after[key][1]),
        moved=sorted(key for key in both if before[key][0] != after[key][0]),
        settings=_settings(old.manifest, new.manifest),
    )


def _stored_state(root: Path, shard: str) -> str:
    found = content_hash(shard_path(root, shard))
    return "missing" if found is None else "same" if found == f"sha256:{shard}" else "damaged"


def _rows_of(dataset: Dataset) -> dict[str, tuple[str, str]]:
    """`task_id attempt` (numbered where several rows share it) -> (split, row id)."""
    rows: dict[str, tuple[str, str]] = {}
    for split, columns in dataset.columns(["row_id", "task_id", "attempt"]):
        name = f"{columns['task_id']} {columns['attempt'] or ''}".rstrip()
        key, count = name, 1
        while key in rows:
            count += 1
            key = f"{name} ({count})"
        rows[key] = split, columns["row_id"]
    return rows


def _settings(old: Manifest, new: Manifest) -> dict[str, list]:
    def told(manifest: Manifest) -> dict[str, object]:
        recipes = {f"{use} recipe": f"{r.name} v{r.version} {r.hash}" for use, r in manifest.recipes.items()}
        return {"eval_share": manifest.eval_share, "seed": manifest.seed, **recipes}

    before, after = told(old), told(new)
    return {
        name: [before.get(name), after.get(name)]
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    }
