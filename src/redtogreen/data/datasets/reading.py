"""Open a dataset version and read its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redtogreen.data.datasets.manifest import Manifest, find_version, read_manifest, shard_path
from redtogreen.errors import RecordError, UsageError, nearest
from redtogreen.records import Trajectory, decode


@dataclass(frozen=True)
class Dataset:
    """One dataset version; rows are read when asked for."""

    manifest: Manifest
    root: Path

    @property
    def folder(self) -> Path:
        return self.root / self.manifest.name / self.manifest.version

    def rows(self, split: str | None = None) -> Iterator[Trajectory]:
        """Trajectories of one split, or of all, in the order of the manifest.

        Raises UsageError for an unknown split, RecordError when a shard is missing or damaged.
        """
        for _, row in self.split_rows(split):
            yield row

    def split_rows(self, split: str | None = None) -> Iterator[tuple[str, Trajectory]]:
        """As `rows`, each with the name of its split."""
        for name, columns in self.columns(["row_id", "row"], split):
            where = f"row {columns['row_id']} of {self.manifest.ref}"
            yield name, decode(columns["row"].encode(), Trajectory, file=where)

    def columns(self, names: list[str], split: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """(split, some columns) of each selected row; `row_id` is always among them."""
        from redtogreen.data.datasets.shards import read_shard

        if split is not None and split not in self.manifest.splits:
            close = nearest(split, self.manifest.splits)
            raise UsageError(
                f"{self.manifest.ref} has no split {split!r}",
                (f"did you mean {close!r}? " if close else "") + f"It has: {', '.join(self.manifest.splits)}",
            )
        for name, part in self.manifest.splits.items():
            if split not in (None, name):
                continue
            for selection in part.selection:
                wanted = set(selection.rows)
                path = shard_path(self.root, selection.shard)
                for columns in read_shard(path, list(dict.fromkeys(["row_id", *names]))):
                    if columns["row_id"] in wanted:
                        wanted.discard(columns["row_id"])
                        yield name, columns
                if wanted:
                    raise RecordError(
                        f"shard {path} lacks {len(wanted)} rows that {self.manifest.ref} selects",
                        "restore it from a copy",
                    )

    def card(self) -> str:
        """The dataset card as it was written."""
        return (self.folder / "README.md").read_text("utf-8")


def load_dataset(ref: str, root: Path, *, altered: bool = False) -> Dataset:
    """The dataset version `name/version`, or the newest of `name`.

    Raises UsageError when there is none, RecordError when its manifest was changed by hand unless `altered`.
    """
    root = Path(root)
    name, version = find_version(ref, root)
    return Dataset(read_manifest(root / name / version, altered=altered), root)


def card(ref: str, root: Path) -> str:
    """The dataset card (Markdown with a YAML header) of a version."""
    return load_dataset(ref, root).card()
