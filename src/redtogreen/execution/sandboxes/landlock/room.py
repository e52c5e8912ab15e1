"""The folder of one sandbox: `work`, a copy of the lower tree, and `tmp`. Links that commands leave are never followed.

Only `measure` runs while commands do; everything else runs when none lives, so nothing changes under its hands.
"""

from __future__ import annotations

import os
import stat

from ..namespace import syscalls
from ..namespace.beneath import DIRECTORY

_DEEPEST = 100


def furnish(room: str, lower: str, user: int | None) -> None:
    """Make the folder, which only its owner may write to. user: whom `work` and `tmp` are given to."""
    os.mkdir(room, 0o700)
    os.mkdir(f"{room}/tmp")
    _copy(lower, f"{room}/work")
    if user is not None:
        for folder, folders, files in os.walk(room):
            for name in (*folders, *files):
                os.lchown(f"{folder}/{name}", user, user)
    os.chmod(room, 0o711)


def _copy(source: str, target: str) -> None:
    os.mkdir(target)
    with os.scandir(source) as entries:
        for entry in entries:
            path = f"{target}/{entry.name}"
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                _copy(entry.path, path)
                os.chmod(path, status.st_mode & 0o777 | 0o700)
            elif stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(entry.path), path)
            elif stat.S_ISREG(status.st_mode):
                _copy_file(entry.path, path, status)


def _copy_file(source: str, target: str, status: os.stat_result) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
    try:
        while os.sendfile(writing, reading, None, 1 << 30):
            pass
        os.fchmod(writing, status.st_mode & 0o777)
        os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))  # byte code is matched by it
    finally:
        os.close(reading)
        os.close(writing)


def measure(room: int) -> tuple[int, int]:
    """Bytes on disk and number of files below an open folder, as far as they can be seen."""
    size = count = 0
    folders = [b"work", b"tmp"]
    while folders:
        path = folders.pop()
        try:
            folder = syscalls.open_beneath(room, path, DIRECTORY)
        except OSError:  # removed, replaced, closed by its owner, or too deep: the count is a best effort
            continue
        try:
            for name in os.listdir(folder):
                try:
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                size += status.st_blocks * 512 // max(1, status.st_nlink if stat.S_ISREG(status.st_mode) else 1)
                count += 1
                if stat.S_ISDIR(status.st_mode):
                    folders.append(path + b"/" + os.fsencode(name))
        finally:
            os.close(folder)
    return size, count


def open_up(folder: int, depth: int = 0) -> None:
    """Let the owner read every file and enter every folder again that a command has closed."""
    for name in os.listdir(folder):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        wanted = {stat.S_IFDIR: 0o700, stat.S_IFREG: 0o400}.get(stat.S_IFMT(status.st_mode), 0)
        if status.st_mode & wanted != wanted:
            os.chmod(name, status.st_mode & 0o7777 | wanted, dir_fd=folder)
        if stat.S_ISDIR(status.st_mode) and depth < _DEEPEST:
            inner = syscalls.open_beneath(folder, name, DIRECTORY)
            try:
                open_up(inner, depth + 1)
            finally:
                os.close(inner)


def remove(room: str) -> None:
    """Remove the folder and all in it. Folders are moved up before they are emptied, so depth does not matter."""
    try:
        top = os.open(room, DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    mark, number = os.urandom(16).hex(), 0
    while names := os.listdir(top):
        for name in names:
            if not _is_folder(name, top):
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=top)
            inner = syscalls.open_beneath(top, name, DIRECTORY)
            for child in os.listdir(inner):
                if _is_folder(child, inner):
                    os.chmod(child, 0o700, dir_fd=inner)  # moving a folder changes it
                    number += 1
                    os.rename(child, f"{mark}{number}", src_dir_fd=inner, dst_dir_fd=top)
                else:
                    os.unlink(child, dir_fd=inner)
            os.close(inner)
            os.rmdir(name, dir_fd=top)
    os.close(top)
    os.rmdir(room)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
