"""Folders that appear whole or not at all, and content hashes of what lies in them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from redtogreen.errors import UsageError
from redtogreen.store import disk_errors


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the only lock on a folder; waits for whoever holds it. The lock ends with its process."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def workplace(parent: Path, name: str) -> Iterator[Path]:
    """A folder `parent/.NAME.writing-*` to prepare something in; gone afterwards, whatever happens.

    What a killed process left behind here is removed first: nobody holds its lock any more.
    """
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        for stale in parent.glob(f".{glob.escape(name)}.writing-*"):
            _remove_if_abandoned(stale)
        with locked(parent):  # nobody may take the new folder for an abandoned one before it is locked
            folder = Path(tempfile.mkdtemp(dir=parent, prefix=f".{name}.writing-"))
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            os.chmod(folder, 0o755)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _remove_if_abandoned(folder: Path) -> None:
    with locked(folder.parent):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)


@contextlib.contextmanager
def new_folder(target: Path, what: str) -> Iterator[Path]:
    """A folder to fill, which becomes `target` when the block ends well and never exists half-written.

    Raises UsageError when `target` already holds something: nothing is overwritten.
    """
    refuse_existing(target, what)
    with workplace(target.parent, target.name) as folder:
        yield folder
        try:
            publish(folder, target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            refuse_existing(target, what)
            raise


def refuse_existing(target: Path, what: str) -> None:
    """Raise UsageError when `target` exists and is anything but an empty folder."""
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists() or target.is_symlink():
        raise UsageError(
            f"{target} exists already; {what} never overwrites", "choose another --out, or remove it first"
        )


def publish(folder: Path, target: Path) -> None:
    """Give a finished folder its name, after everything in it is on the disk."""
    with disk_errors(target):
        for path in sorted(folder.rglob("*"), reverse=True):
            sync(path)
        sync(folder)
        os.rename(folder, target)
        sync(target.parent)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_hash(path: Path) -> str:
    """`sha256:<hex>` of a file's content."""
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def content_hash(path: Path) -> str | None:
    """`sha256:<hex>` of a file, or of the names and contents of all files of a folder; None: it does not exist."""
    if path.is_file():
        return file_hash(path)
    if not path.is_dir():
        return None
    whole = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            whole.update(f"{file.relative_to(path).as_posix()}\0{file_hash(file)}\n".encode())
    return "sha256:" + whole.hexdigest()
