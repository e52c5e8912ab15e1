"""Finding one attempt by what a person types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from redtogreen.records import Trajectory
from redtogreen.records.ids import pick


def find_attempt(read: Callable[[], Iterable[Trajectory]], wanted: str, source: str) -> Trajectory:
    """The attempt of an id, of an unambiguous part of one, or of a row number from 1.

    `read` is called twice, so that one row is held at a time. Raises UsageError when there is none or when several fit,
    naming the nearest.
    """
    names = [row.attempt or row.task_id for row in read()]
    at = pick(wanted, names, "attempts", source, numbered=True)
    return next(islice(read(), at, None))
