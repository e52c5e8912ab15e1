"""The append-only record of what happened, on the disk before anything else goes on.

A file belongs to one writer and is never opened for writing again. It starts with `MAGIC`; each record then is

    size of the payload      4 bytes, little-endian
    CRC-32 of the payload    4 bytes
    CRC-32 of these 8 bytes and the record's number (notices a damaged size, a misplaced record)   4 bytes
    payload                  one JSON object, compressed with zstd

A record counts once `append` has returned: it was written by one write(2) and fdatasync has returned. What a crash
leaves of an unfinished record is a torn tail, which readers leave out.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from redtogreen.errors import EnvironmentUnavailable, RecordError
from redtogreen.store import disk_errors

MAGIC = b"\x89RTGJ\x01\r\n"
"""First bytes of every journal; the sixth is the version of the framing."""
SUFFIX = ".rtgj"

_HEADER = struct.Struct("<III")
_encoder = msgspec.json.Encoder()


@dataclass
class JournalReport:
    """What reading a journal found."""

    records: int = 0
    end: int = 0
    """Offset after the last whole record, in bytes."""
    ignored: int = 0
    """Bytes after `end` that were left out."""
    damaged: str | None = None
    """What is wrong at `end` when it is not just the torn tail a crash leaves; None: all well."""


class JournalWriter:
    """Writes a new journal. Raises EnvironmentUnavailable when the disk is full, FileExistsError for a used name.

    Safe to close twice; a record is never half visible to readers.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self._count = 0
        self._broken: str | None = None
        self._file: int | None = None
        with disk_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o644)
            self._end = 0
            try:
                self._write(MAGIC)
                sync_folder(self.path.parent)
            except BaseException:
                self.close()
                raise

    def append(self, event: dict[str, Any]) -> None:
        """Record one event; it survives a crash of the machine once this returns.

        Raises EnvironmentUnavailable on a full or failing disk; what was recorded before is kept, and nothing more can
        be appended to this file.
        """
        payload = zstandard.ZstdCompressor(level=3, write_checksum=False).compress(_encoder.encode(event))
        head = struct.pack("<II", len(payload), zlib.crc32(payload))
        self._write(head + struct.pack("<I", _seal(head, self._count)) + payload)
        self._count += 1

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, content: bytes) -> None:
        if self._file is None or self._broken:
            raise EnvironmentUnavailable(f"journal {self.path} takes no more records: {self._broken or 'closed'}")
        try:
            written = os.write(self._file, content)
            if written < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(self._file)
        except OSError as error:
            self._broken = os.strerror(error.errno or errno.EIO).lower()
            with contextlib.suppress(OSError):  # a tail that stays is harmless: readers leave it out
                os.ftruncate(self._file, self._end)
                os.fdatasync(self._file)
            raise EnvironmentUnavailable(
                f"cannot write journal {self.path}: {self._broken}",
                "free some space and run the same command again; what was recorded is kept",
            ) from error
        self._end += written

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_journal(path: Path, report: JournalReport | None = None) -> Iterator[dict[str, Any]]:
    """Every whole record in order. Never raises for a torn or damaged tail: `report` says what was left out and where.

    Raises RecordError for a file that is not a journal or was written by a newer version.
    """
    for _, event in read_records(path, report=report):
        yield event


def read_records(
    path: Path, start: tuple[int, int] = (len(MAGIC), 0), report: JournalReport | None = None
) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    """The same with each record's place (offset, number), which can be given as `start` to read on from there."""
    report = report if report is not None else JournalReport()
    with open(path, "rb") as file:
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            if MAGIC.startswith(magic):  # a crash while the file was being made
                report.ignored = len(magic)
                return
            newer = magic[:5] == MAGIC[:5]
            raise RecordError(
                f"{path} was written by a newer redtogreen" if newer else f"{path} is not a journal",
                "upgrade with: pip install --upgrade redtogreen"
                if newer
                else "restore it from a copy, or move it out of the folder if it never was one",
            )
        offset, number = start
        file.seek(offset)
        size = os.fstat(file.fileno()).st_size
        while True:
            report.end, report.ignored = offset, size - offset
            head = file.read(_HEADER.size)
            if not head:
                return
            event, problem = _read_one(file, head, number, size - offset)
            if event is None:
                report.damaged = f"{path}: {problem} at byte {offset}" if problem else None
                return
            report.records += 1
            yield (offset, number), event
            offset, number = file.tell(), number + 1


def _read_one(file: Any, head: bytes, number: int, left: int) -> tuple[dict[str, Any] | None, str | None]:
    """The record, or None with the problem; no problem means a torn tail."""
    if len(head) < _HEADER.size:
        return None, None
    length, checksum, seal = _HEADER.unpack(head)
    if seal != _seal(head[:8], number):
        # After a power cut the file may have its new length but zeros for content.
        torn = not any(head) and not any(file.read())
        return None, None if torn else "the header of a record is damaged"
    if length > left - _HEADER.size:
        return None, None
    payload = file.read(length)
    if zlib.crc32(payload) != checksum:
        torn = length == left - _HEADER.size and payload.endswith(bytes(8))
        return None, None if torn else "the checksum of a record does not fit"
    try:
        return msgspec.json.decode(zstandard.ZstdDecompressor().decompress(payload), type=dict[str, Any]), None
    except (zstandard.ZstdError, msgspec.DecodeError) as error:
        return None, f"a record cannot be read ({error})"


def _seal(head: bytes, number: int) -> int:
    return zlib.crc32(head + struct.pack("<Q", number))


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
