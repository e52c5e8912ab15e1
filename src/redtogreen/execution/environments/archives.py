"""Unpack a source archive from somewhere: bounded, and never outside the folder it is unpacked into."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from redtogreen.errors import EnvironmentUnavailable, TaskError
from redtogreen.store import disk_errors

SUFFIXES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")
LARGEST = 512 * 2**20
"""Bytes an archive may unpack to."""
MOST = 50_000
"""Members an archive may hold."""


def unpack(archive: Path, target: Path) -> tuple[Path, list[str]]:
    """Unpack into the folder `target`; returns the project's folder (the single top folder, if there is one) and notes.

    Members that lead outside, devices and links out of the archive are left out with a note. Raises TaskError for an
    archive that is damaged or too large.
    """
    with disk_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        try:
            notes = _zip(archive, target) if archive.suffix == ".zip" else _tar(archive, target)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise TaskError(f"{archive} cannot be unpacked: {error}") from None
    tops = sorted(target.iterdir())
    return (tops[0] if len(tops) == 1 and tops[0].is_dir() else target), notes


def _tar(archive: Path, target: Path) -> list[str]:
    if not hasattr(tarfile, "data_filter"):
        raise EnvironmentUnavailable(
            "this Python cannot unpack archives safely", "use Python 3.11.4 or newer, or unpack the archive yourself"
        )
    notes: list[str] = []
    size = count = 0
    with tarfile.open(archive) as file:
        for member in file:
            count, size = count + 1, size + max(member.size, 0)
            _check_size(archive, count, size)
            try:
                file.extract(member, target, filter="data")
            except tarfile.FilterError as error:
                notes.append(f"{member.name}: left out of the archive, {error}")
    return notes


def _zip(archive: Path, target: Path) -> list[str]:
    notes: list[str] = []
    size = 0
    with zipfile.ZipFile(archive) as file:
        for count, member in enumerate(file.infolist(), start=1):
            _check_size(archive, count, size + member.file_size)
            path = PurePosixPath(member.filename)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if path.is_absolute() or ".." in path.parts or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                notes.append(f"{member.filename}: left out of the archive, not a plain file inside it")
                continue
            if member.is_dir():
                (target / path).mkdir(parents=True, exist_ok=True)
                continue
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            with file.open(member) as stream, open(target / path, "wb") as out:
                while block := stream.read(1 << 20):
                    size += len(block)
                    _check_size(archive, count, size)
                    out.write(block)
    return notes


def _check_size(archive: Path, count: int, size: int) -> None:
    if count > MOST or size > LARGEST:
        raise TaskError(
            f"{archive} unpacks to more than {MOST} files or {LARGEST >> 20} MB", "unpack what you need of it yourself"
        )
