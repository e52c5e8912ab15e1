"""Read what commands left in the overlay's writable layer, following no link.

Runs in the worker while no command lives. Every component is opened with openat2 below a directory descriptor.
"""

from __future__ import annotations

import os
import stat

from . import syscalls
from .beneath import entries, opened

_DEEPEST = 100
_OPAQUE = "user.overlay.opaque"
Found = dict[str, tuple[str, bytes, bool]]


class Collector:
    """One comparison of an upper directory with its lower tree."""

    def __init__(self, upper: int, lower: int, budget: int):
        self.upper, self.lower, self.budget = upper, lower, budget
        self.found: Found = {}
        self.skipped: list[str] = []

    def collect(self) -> tuple[Found, list[str]]:
        """(path -> (kind, content, executable)), and what could not be represented."""
        self._directory(self.upper, self.lower, b"")
        return self.found, self.skipped

    def _directory(self, upper: int, lower: int | None, prefix: bytes) -> None:
        """`lower` is None where nothing of the lower tree shows through, for instance below an opaque directory."""
        for name in entries(upper):
            path = prefix + name
            status = os.stat(name, dir_fd=upper, follow_symlinks=False)
            below = _status(lower, name)
            kind = stat.S_IFMT(status.st_mode)
            if kind == stat.S_IFDIR and path.count(b"/") >= _DEEPEST:
                self._skip(path, "too deep")
            elif kind == stat.S_IFDIR:
                self._enter(upper, lower, name, path, below)
            elif kind == stat.S_IFCHR and status.st_rdev == 0:
                self._gone(lower, name, path, below)
            elif kind == stat.S_IFREG:
                self._replaced(lower, name, path, below)
                self._file(upper, lower, name, path, status, below)
            elif kind == stat.S_IFLNK:
                self._replaced(lower, name, path, below)
                target = os.readlink(name, dir_fd=upper)
                if not (_is(below, stat.S_IFLNK) and os.readlink(name, dir_fd=lower) == target):
                    self._add(path, "link", target)
            else:
                self._gone(lower, name, path, below)
                self._skip(path, "not a file, link or directory")

    def _enter(self, upper: int, lower: int | None, name: bytes, path: bytes, below: os.stat_result | None) -> None:
        with opened(upper, name) as inner:
            if below is not None and not stat.S_ISDIR(below.st_mode):
                self._add(path, "deleted")
            if lower is None or not _is(below, stat.S_IFDIR):
                self._directory(inner, None, path + b"/")
                return
            with opened(lower, name) as covered:
                if _opaque(inner):
                    self.hidden(inner, covered, path + b"/")
                self._directory(inner, covered, path + b"/")

    def hidden(self, upper: int, lower: int, prefix: bytes) -> None:
        """In an opaque directory what the lower tree holds is deleted unless the upper one holds it again."""
        for name in entries(lower):
            below = _status(lower, name)
            above = _status(upper, name)
            if above is None:
                self._gone(lower, name, prefix + name, below)
            elif stat.S_ISDIR(above.st_mode) and _is(below, stat.S_IFDIR):
                with opened(upper, name) as inner, opened(lower, name) as covered:
                    if not _opaque(inner):
                        self.hidden(inner, covered, prefix + name + b"/")

    def _gone(self, lower: int | None, name: bytes, path: bytes, below: os.stat_result | None) -> None:
        if below is None or lower is None:
            return
        if not stat.S_ISDIR(below.st_mode):
            self._add(path, "deleted")
            return
        with opened(lower, name) as inner:
            for child in entries(inner):
                self._gone(inner, child, path + b"/" + child, _status(inner, child))

    def _replaced(self, lower: int | None, name: bytes, path: bytes, below: os.stat_result | None) -> None:
        if _is(below, stat.S_IFDIR):
            self._gone(lower, name, path, below)

    def _file(
        self,
        upper: int,
        lower: int | None,
        name: bytes,
        path: bytes,
        status: os.stat_result,
        below: os.stat_result | None,
    ) -> None:
        if status.st_size > self.budget:  # sparse, or one inode under many names: honest files fit the quota
            self._skip(path, "larger than the workspace may be")
            return
        content = _read(upper, name)
        self.budget -= len(content)
        executable = bool(status.st_mode & stat.S_IXUSR)
        unchanged = (
            lower is not None
            and below is not None
            and stat.S_ISREG(below.st_mode)
            and below.st_size == len(content)
            and bool(below.st_mode & stat.S_IXUSR) == executable
            and _read(lower, name) == content
        )
        if not unchanged:
            self._add(path, "file", content, executable)

    def _add(self, path: bytes, kind: str, content: bytes = b"", executable: bool = False) -> None:
        try:
            self.found[path.decode()] = (kind, content, executable)
        except UnicodeDecodeError:
            self._skip(path, "name is not UTF-8")

    def _skip(self, path: bytes, reason: str) -> None:
        self.skipped.append(f"{path.decode('utf-8', 'backslashreplace')} [{reason}]")


def _status(directory: int | None, name: bytes) -> os.stat_result | None:
    if directory is None:
        return None
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is(status: os.stat_result | None, kind: int) -> bool:
    return status is not None and stat.S_IFMT(status.st_mode) == kind


def _opaque(directory: int) -> bool:
    try:
        return os.getxattr(directory, _OPAQUE) == b"y"
    except OSError:
        return False


def _read(directory: int, name: bytes) -> bytes:
    descriptor = syscalls.open_beneath(directory, name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        size = os.fstat(descriptor).st_size
        parts = []
        while size > 0 and (part := os.read(descriptor, min(size, 1 << 24))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
