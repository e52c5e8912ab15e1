"""What an unfinished admission has proven so far: checksummed lines, appended before the next result is looked at.

After Ctrl-C or kill -9 the same command goes on from here; a torn last line is ignored.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from pathlib import Path
from typing import TypeVar

import msgspec

from redtogreen.errors import UsageError
from redtogreen.store import disk_errors

R = TypeVar("R", bound=msgspec.Struct)


class _Line(msgspec.Struct):
    key: str
    value: msgspec.Raw


class Progress:
    """Results by key. One process at a time: opening raises UsageError while another admission holds the file."""

    def __init__(self, path: Path):
        self.path = path
        self._values: dict[str, msgspec.Raw] = {}
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b")  # noqa: SIM115 - held until close()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise UsageError(
                f"another admission is writing beside {path}", "wait for it, or choose another --out"
            ) from None
        self._file.seek(0)
        good = 0
        for line in self._file:
            if not line.endswith(b"\n") or (row := _read(line)) is None:
                break
            self._values[row.key] = row.value
            good += len(line)
        self._file.truncate(good)

    def get(self, key: str, kind: type[R]) -> R | None:
        """The result kept under a key, None when there is none that this version can read."""
        value = self._values.get(key)
        if value is None:
            return None
        try:
            return msgspec.json.decode(value, type=kind)
        except msgspec.ValidationError:
            return None

    def put(self, key: str, value: msgspec.Struct) -> None:
        """Keep a result; it is on the disk when this returns."""
        body = msgspec.json.encode(_Line(key, msgspec.Raw(msgspec.json.encode(value))))
        with disk_errors(self.path):
            self._file.write(b"%08x %s\n" % (zlib.crc32(body), body))
            self._file.flush()
            os.fdatasync(self._file.fileno())

    def close(self, *, finished: bool) -> None:
        """Let go of the file, and remove it when everything is written elsewhere."""
        with disk_errors(self.path):
            if finished or (self.path.exists() and not self.path.stat().st_size):
                self.path.unlink(missing_ok=True)
            self._file.close()  # tries once more to write what a full disk refused


def _read(line: bytes) -> _Line | None:
    checksum, _, body = line.rstrip(b"\n").partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(body):
            return None
        return msgspec.json.decode(body, type=_Line)
    except (ValueError, msgspec.DecodeError):
        return None
