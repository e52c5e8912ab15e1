"""Reading and writing records as JSON lines; every error names file, line, path and the nearest known field."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from redtogreen.errors import RecordError, nearest
from redtogreen.records.migrations import migrate

R = TypeVar("R", bound=msgspec.Struct)
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_PATH = re.compile(r" - at `([^`]*)`$")


class RowError(RecordError):
    """One line that is not a valid record."""

    def __init__(self, file: str, line: int, path: str, problem: str, hint: str | None):
        where = f"{file}:{line}" + (f": {path}" if path else "")
        super().__init__(f"{where}: {problem}", hint)
        self.file, self.line, self.path, self.problem = file, line, path, problem

    def __reduce__(self):
        return type(self), (self.file, self.line, self.path, self.problem, self.hint)


def encode(record: msgspec.Struct) -> bytes:
    """One line of JSON without the newline; equal records give equal bytes."""
    return msgspec.json.encode(record)


def decode(
    line: bytes,
    kind: type[R],
    *,
    file: str = "<memory>",
    number: int = 1,
    lenient: bool = False,
    moved: list[str] | None = None,
) -> R:
    """One record from one line of JSON.

    `lenient` moves unknown top-level and step fields under `extra` instead of refusing them; `moved` takes their paths.
    Raises RowError (a RecordError) naming file, line, path and the nearest known field.
    """
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RowError(file, number, "", f"not valid JSON: {error}", "each line must hold one JSON object") from None
    except RecursionError:
        raise RowError(file, number, "", "nested too deeply to be read", None) from None
    if not isinstance(raw, dict):
        raise RowError(file, number, "", f"expected an object, found {type(raw).__name__}", None)
    try:
        raw = migrate(raw, kind.__name__)
    except RecordError as error:
        raise RowError(file, number, "schema", error.message, error.hint) from None
    if lenient:
        raw = _move_unknown(raw, kind, "", [] if moved is None else moved)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explain(error, kind, file, number) from None


def read_rows(
    path: Path, kind: type[R], *, lenient: bool = False, moved: list[str] | None = None
) -> Iterator[tuple[int, R | RowError]]:
    """Every non-empty line as (number from 1, record or the error that line holds); one bad line stops nothing.

    `moved` takes `FILE:LINE: PATH` of every unknown field that `lenient` moved to `extra`.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                paths: list[str] = []
                record = decode(line, kind, file=str(path), number=number, lenient=lenient, moved=paths)
                if moved is not None:
                    moved += [f"{path}:{number}: {name}" for name in paths]
                yield number, record
            except RowError as error:
                yield number, error


def read_strict(path: Path, kind: type[R], *, lenient: bool = False) -> Iterator[R]:
    """Every record of a file; the first bad line raises its RowError."""
    for _, row in read_rows(path, kind, lenient=lenient):
        if isinstance(row, RowError):
            raise row
        yield row


def write_jsonl(path: Path, records: Iterable[msgspec.Struct]) -> int:
    """Write records atomically (a reader sees the old file or the whole new one); returns how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            for record in records:
                file.write(encode(record) + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return count


def _move_unknown(raw: dict[str, Any], kind: type[msgspec.Struct], at: str, moved: list[str]) -> dict[str, Any]:
    known = set(kind.__struct_fields__)
    if "extra" not in known:
        return raw
    extra = dict(raw.get("extra") or {})
    unknown = {key: value for key, value in raw.items() if key not in known}
    moved += [at + key for key in unknown]
    extra.update(unknown)
    kept = {key: value for key, value in raw.items() if key in known}
    if extra:
        kept["extra"] = extra
    if isinstance(kept.get("trajectory"), list):
        from redtogreen.records.trajectory import Step

        kept["trajectory"] = [
            _move_unknown(step, Step, f"trajectory[{index}].", moved) if isinstance(step, dict) else step
            for index, step in enumerate(kept["trajectory"])
        ]
    return kept


def _explain(error: msgspec.ValidationError, kind: type[msgspec.Struct], file: str, number: int) -> RowError:
    text = str(error)
    found = _PATH.search(text)
    path = (found[1] if found else "$").removeprefix("$").removeprefix(".")
    problem = _PATH.sub("", text)
    hint = None
    if unknown := _UNKNOWN.search(text):
        close = nearest(unknown[1], _fields_at(kind, path))
        path = f"{path}.{unknown[1]}".lstrip(".")
        problem = f"unknown field `{unknown[1]}`"
        hint = f"did you mean `{close}`? " if close else ""
        hint += "foreign fields belong under `extra` (--lenient moves them there)"
    elif missing := _MISSING.search(text):
        path = f"{path}.{missing[1]}".lstrip(".")
        problem = f"required field `{missing[1]}` is missing"
    return RowError(file, number, path, problem, hint)


def _fields_at(kind: Any, path: str) -> list[str]:
    """Field names of the struct that a path such as `trajectory[0].feedback` leads to."""
    for part in re.findall(r"[A-Za-z_]\w*", path):
        hints = {field.name: field.type for field in msgspec.structs.fields(kind)}
        kind = _struct_in(hints.get(part))
        if kind is None:
            return []
    return list(kind.__struct_fields__)


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if found := _struct_in(argument):
            return found
    return None
