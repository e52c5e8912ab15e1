"""Where things lie on disk: the home folder, content-addressed blobs, atomic writes."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import zstandard

from redtogreen.errors import EnvironmentUnavailable, RecordError
from redtogreen.records.canonical import digest


def home() -> Path:
    """Folder of caches that can be made again: `$REDTOGREEN_HOME`, else `$XDG_CACHE_HOME/redtogreen`, else ~/.cache."""
    if chosen := os.environ.get("REDTOGREEN_HOME"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "redtogreen"


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a full or read-only disk into an error that names the place."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
            reason = os.strerror(error.errno).lower()
            raise EnvironmentUnavailable(
                f"cannot write {path}: {reason}",
                "free some space, or choose another place with --out or REDTOGREEN_HOME; what was recorded is kept",
            ) from error
        raise


def write_atomic(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a whole file or nothing. `durable` also waits until it is on the disk."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed on leaving. What a killed process left behind is removed by the next call."""
    base = home() / "scratch"
    with disk_errors(base):
        base.mkdir(parents=True, exist_ok=True)
        remove_stale_scratch()
        folder = Path(tempfile.mkdtemp(dir=base, prefix=f"{os.getpid()}-{_started(os.getpid())}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def remove_stale_scratch() -> int:
    """Remove the temporary folders of processes that were killed; how many there were."""
    base = home() / "scratch"
    stale = [folder for folder in base.iterdir() if not _lives(folder.name)] if base.is_dir() else []
    for folder in stale:
        shutil.rmtree(folder, ignore_errors=True)  # another process may be removing it too
    return len(stale)


def _lives(name: str) -> bool:
    """Whether the process that made a scratch folder still runs; ids are used again, start times are not."""
    pid, _, rest = name.partition("-")
    return pid.isdigit() and _started(int(pid)) == rest.partition("-")[0]


def _started(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot, None when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None


class BlobStore:
    """Bytes by their SHA-256, compressed with zstd, at `root/ab/cdef...`. Safe for many writers at once."""

    def __init__(self, root: Path):
        self.root = Path(root)

    def _path(self, name: str) -> Path:
        hexes = name.removeprefix("sha256:")
        if len(hexes) != 64 or set(hexes) - set("0123456789abcdef"):
            raise RecordError(f"not a blob name: {name!r}", "names look like sha256:<64 hex digits>")
        return self.root / hexes[:2] / hexes[2:]

    def put(self, content: bytes) -> str:
        """Store some bytes; returns their name `sha256:<hex>`. Storing them again costs one look-up."""
        name = digest(content)
        path = self._path(name)
        if not path.exists():
            write_atomic(path, zstandard.ZstdCompressor(level=3).compress(content))
        return name

    def has(self, name: str) -> bool:
        return self._path(name).exists()

    def get(self, name: str) -> bytes:
        """The bytes of a name. Raises RecordError when they are missing or damaged."""
        path = self._path(name)
        try:
            content = zstandard.ZstdDecompressor().decompress(path.read_bytes())
        except FileNotFoundError:
            raise RecordError(
                f"blob {name} is missing under {self.root}",
                "keep NAME.blobs/ beside NAME.jsonl, and blobs/ inside a run folder, when you move or copy them",
            ) from None
        except zstandard.ZstdError as error:
            raise RecordError(f"blob {path} is damaged: {error}", "restore it from a copy") from None
        if digest(content) != name:
            raise RecordError(f"blob {path} does not hold what its name says", "restore it from a copy")
        return content

    def names(self) -> Iterator[str]:
        """Every blob stored here."""
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for path in sorted(folder.iterdir()):
                if not path.name.startswith("."):
                    yield f"sha256:{folder.name}{path.name}"

    def copy_from(self, other: BlobStore, name: str) -> None:
        """Bring one blob here from another store."""
        if not self.has(name):
            self.put(other.get(name))
