"""What a dataset version is made of: the manifest, its folder and its name."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from redtogreen.data.cleaning.writing import FunnelStep, RecipeUse, Source
from redtogreen.data.seal import check_seal
from redtogreen.errors import RecordError, UsageError, nearest
from redtogreen.records import decode
from redtogreen.records.base import SCHEMA, Record

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"v([1-9]\d*)")
SHARDS = "shards"


class Selection(Record, kw_only=True):
    """Rows of one shard, in order."""

    shard: str
    """`sha256` of the file in hex; it lies at ROOT/shards/<shard>.parquet."""
    rows: list[str]
    """Row ids: the first 24 hex digits of the canonical row's hash, `-2`, `-3`... for equal rows."""


class Split(Record, kw_only=True):
    """One side of the split."""

    rows: int
    tasks: int
    projects: list[str]
    selection: list[Selection]


class Shard(Record, kw_only=True):
    """One immutable file."""

    rows: int
    bytes: int


class BuiltFrom(Record, kw_only=True):
    """The cleaned folder a version was made of."""

    path: str
    """Relative to the datasets folder."""
    files: dict[str, str | None]
    """File -> content hash; None: the folder has no such file."""


class Manifest(Record, kw_only=True, omit_defaults=True):
    """Everything needed to check a dataset version and to make it again."""

    schema: int = SCHEMA
    name: str
    version: str
    """`v1`, `v2`..."""
    hash: str
    """`sha256:` over the canonical rows and their splits; durations and clock times do not change it."""
    rows: dict[str, int]
    """Split -> rows."""
    splits: dict[str, Split]
    shards: dict[str, Shard]
    eval_share: float
    seed: int
    built_from: BuiltFrom
    sources: list[Source] = []
    """Where the cleaned rows came from."""
    recipes: dict[str, RecipeUse] = {}
    """`cleaning` and `reward`, with copies beside the manifest."""
    code: dict[str, str]
    """Package -> version that wrote the files."""
    licences: dict[str, int]
    """Licence of the code the rows hold -> rows; `not stated` where a row says nothing."""
    counts: dict[str, int]
    outcomes: dict[str, int]
    funnel: list[FunnelStep] = []
    statistics: dict[str, dict[str, float | None]]
    """Quantity -> mean, min, max."""
    notes: list[str] = []
    digest: str | None = None
    """`sha256:` over all other fields: a change by hand is noticed. None: written before there was one."""
    reused: bool = False
    """True on what `build_dataset` gives back when an earlier version already holds the same content."""

    @property
    def ref(self) -> str:
        """`name/version`."""
        return f"{self.name}/{self.version}"


def check_name(name: str) -> None:
    """Raise UsageError for a name that is not one plain folder name."""
    if not _NAME.fullmatch(name) or name == SHARDS:
        raise UsageError(f"{name!r} cannot name a dataset", "use letters, digits, `.`, `_` and `-`; not `shards`")


def number_of(version: str) -> int | None:
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else None


def versions(root: Path, name: str) -> list[str]:
    """Finished versions of a dataset, oldest first."""
    folder = Path(root) / name
    found = [path.parent.name for path in folder.glob("v*/manifest.json") if number_of(path.parent.name)]
    return sorted(found, key=lambda version: number_of(version) or 0)


def dataset_names(root: Path) -> list[str]:
    """Datasets with at least one finished version, sorted."""
    root = Path(root)
    if not root.is_dir():
        return []
    return sorted(path.name for path in root.iterdir() if path.name != SHARDS and versions(root, path.name))


def find_version(ref: str, root: Path) -> tuple[str, str]:
    """(name, version) of `name/version`, or of `name` for its newest version.

    Raises UsageError naming the nearest dataset or the versions there are.
    """
    name, _, version = ref.strip("/").partition("/")
    found = versions(root, name) if _NAME.fullmatch(name) else []
    if not found:
        known = dataset_names(root)
        close = nearest(name, known)
        there = (
            f"there are: {', '.join(known)}" if known else "there are none yet; make one with: redtogreen dataset build"
        )
        raise UsageError(f"no dataset {name!r} under {root}", f"did you mean {close!r}?" if close else there)
    if not version:
        return name, found[-1]
    if version not in found:
        raise UsageError(f"dataset {name!r} has no version {version!r}", f"it has: {', '.join(found)}")
    return name, version


def read_manifest(folder: Path, *, altered: bool = False) -> Manifest:
    """The manifest of a version folder.

    Raises RecordError when it breaks its schema, and when it was changed by hand unless `altered` is allowed.
    """
    path = folder / "manifest.json"
    manifest = decode(path.read_bytes(), Manifest, file=str(path))
    for split in manifest.splits:
        if not _NAME.fullmatch(split):
            raise RecordError(f"{path}: splits: {split!r} cannot name a split", "restore the file from a copy")
    if not altered:
        see = f"restore it from a copy; what differs says: redtogreen dataset rebuild {manifest.ref}"
        check_seal(manifest, path, see)
    return manifest


def manifest_bytes(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def shard_path(root: Path, shard: str) -> Path:
    if len(shard) != 64 or set(shard) - set("0123456789abcdef"):
        raise RecordError(f"not a shard name: {shard!r}", "shards are named by 64 hex digits")
    return Path(root) / SHARDS / f"{shard}.parquet"
