"""A digest that a written record carries about itself, so that a change by hand is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from redtogreen.errors import RecordError
from redtogreen.records.canonical import canonical_json, digest

R = TypeVar("R", bound=msgspec.Struct)


def sealed(record: R) -> R:
    """The record with `digest` set: a hash over all its other fields, however they are laid out in a file."""
    return msgspec.structs.replace(record, digest=_digest(record))


def broken(record: Any) -> bool:
    """Whether a record is not what it was when it was sealed; one without a digest (from an older version) is not."""
    return record.digest is not None and record.digest != _digest(record)


def check_seal(record: Any, path: Path, hint: str) -> None:
    """Raise RecordError naming the file when its record was changed after it was written."""
    if broken(record):
        raise RecordError(f"{path} was changed after it was written: its digest does not fit", hint)


def _digest(record: Any) -> str:
    plain = msgspec.to_builtins(record)
    plain.pop("digest", None)
    return digest(canonical_json(plain))
