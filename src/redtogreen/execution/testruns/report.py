"""Read the report of the in-sandbox driver. It comes from where hostile code runs: every field is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from redtogreen.execution.testruns.results import CollectionError, Frame, Spectrum, TestResult

_MESSAGE, _TRACEBACK, _FRAMES, _ID, _MODULES = 2_000, 8_000, 50, 4_000, 10_000
_RANK = {"passed": 0, "xpassed": 1, "xfailed": 2, "skipped": 3, "failed": 4, "error": 5}


class _Hello(msgspec.Struct, tag="hello", tag_field="kind"):
    pytest: str
    python: str


class _Item(msgspec.Struct, tag="item", tag_field="kind"):
    id: str


class _Test(msgspec.Struct, tag="test", tag_field="kind"):
    id: str
    status: Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
    stage: Literal["setup", "call", "teardown"] = "call"
    exception: str | None = None
    message: str = ""
    traceback: str = ""
    frames: list[tuple[str, int, str]] = []


class _CollectionError(msgspec.Struct, tag="collection_error", tag_field="kind"):
    path: str
    exception: str
    message: str
    traceback: str


class _Spectrum(msgspec.Struct, tag="spectrum", tag_field="kind"):
    file: str
    lines: list[tuple[int, int, int]]


class _Modules(msgspec.Struct, tag="modules", tag_field="kind"):
    names: list[str]


class _Code(msgspec.Struct, tag="code", tag_field="kind"):
    path: str
    digest: str
    variant: str
    code: bytes


class _Shadowed(msgspec.Struct, tag="shadowed", tag_field="kind"):
    names: list[str]


class _End(msgspec.Struct, tag="end", tag_field="kind"):
    records: int
    exit_status: int
    interrupted: bool


_Record = _Hello | _Item | _Test | _CollectionError | _Spectrum | _Modules | _Code | _Shadowed
_decoder = msgspec.json.Decoder(_Record | _End)


@dataclass
class Report:
    """The records of one run, merged."""

    tests: dict[str, TestResult] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)
    spectrum: Spectrum = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    codes: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    shadowed: list[str] = field(default_factory=list)
    greeted: bool = False
    complete: bool = False
    exit_status: int | None = None


def read_report(raw: bytes, token: str) -> Report:
    """Merge the records that carry the token of this run.

    `complete` needs the greeting, an end that was not an interruption, as many records as the end counts, and no line
    that is damaged, foreign, or after the end.
    """
    report = Report()
    mark = token.encode() + b" "
    records, strange, ended = 0, 0, None
    for line in raw.split(b"\n"):
        if not line:
            continue
        record = _decode(line.removeprefix(mark)) if line.startswith(mark) else None
        if record is None or ended is not None:
            strange += 1
        elif isinstance(record, _End):
            ended = record
        else:
            records += 1
            _take(record, report)
    if ended is not None:
        report.exit_status = ended.exit_status
        report.complete = report.greeted and not strange and ended.records == records and not ended.interrupted
    return report


def _decode(line: bytes):
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _take(record: _Record, report: Report) -> None:
    if isinstance(record, _Hello):
        report.greeted = True
    elif isinstance(record, _Item):
        report.items.append(record.id)
    elif isinstance(record, _Test):
        _merge(record, report.tests)
    elif isinstance(record, _CollectionError):
        report.errors.append(
            CollectionError(
                record.path[:_ID], record.exception[:200], record.message[:_MESSAGE], record.traceback[:_TRACEBACK]
            )
        )
    elif isinstance(record, _Modules):
        report.modules = record.names[:_MODULES]
    elif isinstance(record, _Code):
        report.codes[record.path, record.digest, record.variant] = record.code
    elif isinstance(record, _Shadowed):
        report.shadowed = record.names[:_MODULES]
    else:
        report.spectrum[record.file] = {line: (failing, passing) for line, failing, passing in record.lines}


def _merge(record: _Test, tests: dict[str, TestResult]) -> None:
    known = tests.get(record.id)
    if known is not None and _RANK[known.status] >= _RANK[record.status]:
        return
    tests[record.id] = TestResult(
        status=record.status,
        stage=record.stage,
        exception=record.exception[:200] if record.exception is not None else None,
        message=record.message[:_MESSAGE],
        traceback=record.traceback[:_TRACEBACK],
        frames=[Frame(*frame) for frame in record.frames[-_FRAMES:]],
    )
