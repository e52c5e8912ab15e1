"""Write into the workspace from outside, through the overlay, following no link a command has left there."""

from __future__ import annotations

import os

from . import syscalls
from .beneath import DIRECTORY, entries, opened
from .syscalls import SetupFailure


def apply(root: int, changes: list[tuple[str, str, bytes, bool]]) -> None:
    """Write changes below the workspace's root, deletions first. Raises SetupFailure naming the path."""
    ordered = sorted(changes, key=lambda change: (change[1] != "deleted", change[0]))
    for path, kind, content, executable in ordered:
        try:
            _apply(root, path, kind, content, executable)
        except OSError as error:
            raise SetupFailure(f"write {path}", error) from error


def _apply(root: int, path: str, kind: str, content: bytes, executable: bool) -> None:
    *folders, name = path.split("/")
    directory = os.dup(root)
    try:
        for folder in folders:
            try:
                inner = syscalls.open_beneath(directory, folder, DIRECTORY)
            except FileNotFoundError:
                if kind == "deleted":
                    return
                os.mkdir(folder, 0o755, dir_fd=directory)
                inner = syscalls.open_beneath(directory, folder, DIRECTORY)
            os.close(directory)
            directory = inner
        _remove(directory, name)
        if kind == "link":
            os.symlink(content, name, dir_fd=directory)
        elif kind == "file":
            descriptor = syscalls.open_beneath(directory, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                _write_all(descriptor, content)
                os.fchmod(descriptor, 0o755 if executable else 0o644)
            finally:
                os.close(descriptor)
    finally:
        os.close(directory)


def _remove(directory: int, name: str | bytes) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        with opened(directory, os.fsencode(name)) as inner:
            for child in entries(inner):
                _remove(inner, child)
        os.rmdir(name, dir_fd=directory)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
