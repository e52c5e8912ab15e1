"""Rows in immutable Parquet files, named by the hash of their bytes.

Columns: what one filters by, and `row`: the whole trajectory as JSON. The same rows give the same bytes (with the
same pyarrow): zstd level 3, 64 rows per group, no time stamps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from redtogreen.errors import RecordError
from redtogreen.records import Trajectory

GROUP = 64
MOST_ROWS = 2048
MOST_BYTES = 256 * 2**20
SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("task_id", pa.string()),
        ("attempt", pa.string()),
        ("project", pa.string()),
        ("outcome", pa.string()),
        ("ending", pa.string()),
        ("success", pa.bool_()),
        ("reward", pa.float64()),
        ("steps", pa.int32()),
        ("agent", pa.string()),
        ("model", pa.string()),
        ("row", pa.string()),
    ]
)


def columns_of(trajectory: Trajectory, project: str) -> dict[str, Any]:
    """The columns of one row but `row_id` and `row`."""
    return {
        "task_id": trajectory.task_id,
        "attempt": trajectory.attempt,
        "project": project,
        "outcome": trajectory.outcome,
        "ending": trajectory.ending,
        "success": trajectory.success,
        "reward": trajectory.reward,
        "steps": len(trajectory.trajectory),
        "agent": trajectory.metadata.agent,
        "model": trajectory.metadata.model,
    }


def write_shards(folder: Path, rows: Iterable[tuple[dict[str, Any], bytes]]) -> Iterator[tuple[str, list[str], int]]:
    """Write rows (columns with `row_id`, JSON of the whole row) to files of limited size.

    Yields (sha256 in hex, row ids, bytes) per file, which then lies at folder/<sha256>.parquet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    batch: list[tuple[dict[str, Any], bytes]] = []
    size = 0
    for columns, text in rows:
        if batch and (len(batch) >= MOST_ROWS or size + len(text) > MOST_BYTES):
            yield _write(folder, batch)
            batch, size = [], 0
        batch.append((columns, text))
        size += len(text)
    if batch:
        yield _write(folder, batch)


def _write(folder: Path, rows: Sequence[tuple[dict[str, Any], bytes]]) -> tuple[str, list[str], int]:
    path = folder / "unnamed.parquet"
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", compression_level=3, store_schema=False) as writer:
        for start in range(0, len(rows), GROUP):
            group = [{**columns, "row": text.decode()} for columns, text in rows[start : start + GROUP]]
            writer.write_table(pa.Table.from_pylist(group, schema=SCHEMA), row_group_size=GROUP)
    with open(path, "rb") as file:
        name = hashlib.file_digest(file, "sha256").hexdigest()
    size = path.stat().st_size
    path.rename(folder / f"{name}.parquet")
    return name, [columns["row_id"] for columns, _ in rows], size


def read_shard(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    """Rows of a shard as plain objects, a group at a time. Raises RecordError when it is missing or damaged."""
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group, columns=columns).to_pylist()
    except FileNotFoundError:
        raise RecordError(
            f"shard {path} is missing", "a dataset folder is copied together with the shards/ folder beside it"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise RecordError(
            f"shard {path} is damaged: {error}", "restore it from a copy, or: redtogreen dataset rebuild"
        ) from None
