"""INPUT of the command line: recorded rows, wherever they lie: a run folder, a dataset or a file of trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from redtogreen.errors import UsageError, nearest
from redtogreen.records import RowError, Trajectory, check_kind


@dataclass
class Reading:
    """How to read rows that break the schema, and what was met."""

    lenient: bool = False
    """Move unknown fields to `extra` instead of refusing the row."""
    go_on: bool = False
    """Leave broken rows out instead of stopping at the first."""
    moved: list[str] = field(default_factory=list)
    """Where unknown fields were moved from."""
    broken: list[RowError] = field(default_factory=list)
    """Rows left out."""


def open_rows(
    source: Path | str, datasets: Path | str = Path("datasets"), reading: Reading | None = None
) -> Iterator[tuple[str, int, Trajectory | RowError]]:
    """(place, row number, row) of a run folder, a FILE.jsonl, or a dataset (NAME or NAME/VERSION).

    A line that breaks the schema comes as its error. Raises UsageError when there is nothing of that name.
    """
    from redtogreen.data.datasets import dataset_names, load_dataset
    from redtogreen.records import read_rows
    from redtogreen.trajectories.collection import is_run, load_run

    path = Path(source)
    reading = reading or Reading()
    if is_run(path):
        yield from ((str(path), number, row) for number, row in enumerate(load_run(path), 1))
    elif path.is_file():
        check_kind(path, "trajectories")
        yield from (
            (str(path), number, row)
            for number, row in read_rows(path, Trajectory, lenient=reading.lenient, moved=reading.moved)
        )
    elif path.is_dir() and (path / "kept.jsonl").is_file():
        yield from open_rows(path / "kept.jsonl", datasets, reading)
    elif path.exists():
        raise UsageError(f"{path} is no run folder", "give a run folder, a dataset, or a FILE.jsonl")
    else:
        known = dataset_names(Path(datasets))
        if str(source).split("/")[0] not in known:
            close = nearest(str(source), [*known, *(item.name for item in path.absolute().parent.glob("*"))])
            raise UsageError(
                f"there is no run folder, file or dataset {str(source)!r}",
                (f"did you mean {close!r}? " if close else "") + f"datasets are looked for in {datasets}",
            )
        rows = load_dataset(str(source), Path(datasets)).rows()
        yield from ((str(source), number, row) for number, row in enumerate(rows, 1))


def load_trajectories(
    source: Path | str, datasets: Path | str = Path("datasets"), reading: Reading | None = None
) -> Iterator[Trajectory]:
    """Trajectories of a run folder, a FILE.jsonl or a dataset; the first broken line raises its RecordError.

    With `reading.go_on` broken rows are put into `reading.broken` and the others follow.
    """
    for _, _, row in open_rows(source, datasets, reading):
        if not isinstance(row, RowError):
            yield row
        elif reading is not None and reading.go_on:
            reading.broken.append(row)
        else:
            raise row
