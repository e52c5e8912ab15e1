"""A repository's files as a content-addressed manifest, and the read-only folder a sandbox lays its workspace over.

A tree is named by the hash of its manifest (path, mode, content hash of every file); equal trees share their blobs.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import msgspec

from redtogreen.errors import RecordError, TaskError
from redtogreen.execution.sandboxes import owner_for_lower
from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import BlobStore, disk_errors, home

MAX_FILES = 50_000
LEAKS = (
    ".git",
    ".hg",
    ".svn",
    "build",
    "dist",
    "*.egg-info",
    "*.dist-info",
    "__pycache__",
    "*.pyc",
    ".tox",
    ".nox",
    ".venv",
    "venv",
    ".eggs",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    "htmlcov",
    ".coverage",
    "*.orig",
    "*.rej",
)
"""Names that hold a second copy of the code, its history or its results: never part of a tree."""


@dataclass(frozen=True)
class Entry:
    """One file: `mode` is `file`, `exec` or `link`; `name` the blob of its content or link target."""

    mode: str
    name: str


@dataclass(frozen=True)
class Tree:
    """All files of a repository by POSIX path."""

    entries: dict[str, Entry]

    def manifest(self) -> bytes:
        return canonical_json({path: [entry.mode, entry.name] for path, entry in self.entries.items()})

    @property
    def hash(self) -> str:
        """`sha256:...` of the manifest."""
        return digest(self.manifest())


def save_tree(tree: Tree, store: BlobStore) -> str:
    """Store the manifest (the contents are stored already); returns the tree's hash."""
    return store.put(tree.manifest())


def load_tree(name: str, store: BlobStore) -> Tree:
    """The tree of a hash. Raises RecordError when a manifest is missing or names paths outside the tree."""
    try:
        raw = msgspec.json.decode(store.get(name), type=dict[str, tuple[str, str]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(f"blob {name} is no tree: {error}", "restore it from a copy") from None
    for path in raw:
        check_path(path)
    return Tree({path: Entry(mode, blob) for path, (mode, blob) in raw.items()})


def copy_tree(name: str, source: BlobStore, target: BlobStore) -> None:
    """Bring a tree and all its contents into another store."""
    for entry in load_tree(name, source).entries.values():
        target.copy_from(source, entry.name)
    target.copy_from(source, name)


def check_path(path: str) -> None:
    """Refuse paths that are not plain relative POSIX paths. Raises RecordError."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or str(PurePosixPath(path)) != path:
        raise RecordError(f"not a plain relative path: {path!r}")


def scan_folder(folder: Path, store: BlobStore) -> tuple[Tree, list[str]]:
    """Read a trusted folder into the store; returns the tree and notes on what was left out.

    Symbolic links are kept as links when they stay inside the folder, else left out; devices, sockets and FIFOs are
    left out; so is everything in `LEAKS`. Raises TaskError when there are too many files or none.
    """
    entries: dict[str, Entry] = {}
    notes: list[str] = []
    root = os.path.realpath(folder)
    for current, folders, files in os.walk(root):
        at_top = current == root
        links = [name for name in folders if os.path.islink(os.path.join(current, name))]
        folders[:] = sorted(name for name in folders if name not in links and not _leaks(name, at_top))
        for name in sorted([*files, *links]):
            path = os.path.join(current, name)
            relative = Path(path).relative_to(root).as_posix()
            if _leaks(name, at_top):
                continue
            mode = os.lstat(path).st_mode
            try:
                relative.encode()
            except UnicodeEncodeError:
                notes.append(f"{relative!r}: left out, its name is not UTF-8")
                continue
            if stat.S_ISLNK(mode):
                target = os.path.realpath(path)
                if os.path.commonpath([root, target]) == root and os.path.exists(target):
                    entries[relative] = Entry("link", store.put(os.readlink(path).encode()))
                else:
                    notes.append(f"{relative}: left out, a link that leads outside or nowhere")
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    entries[relative] = Entry("exec" if mode & 0o111 else "file", store.put(file.read()))
            else:
                notes.append(f"{relative}: left out, not a regular file")
            if len(entries) > MAX_FILES:
                raise TaskError(f"{folder} holds more than {MAX_FILES} files", "point at the project's own folder")
    if not entries:
        raise TaskError(f"{folder} holds no files")
    return Tree(dict(sorted(entries.items()))), notes


def _leaks(name: str, at_top: bool) -> bool:
    only_at_top = ("build", "dist", "venv")
    return any(fnmatchcase(name, pattern) for pattern in LEAKS if at_top or pattern not in only_at_top)


def apply_changes(tree: Tree, changes: Changes, store: BlobStore) -> Tree:
    """The tree after some changes; contents go to the store."""
    entries = dict(tree.entries)
    for path, change in changes.items():
        check_path(path)
        if change.kind == "deleted":
            for gone in [known for known in entries if known == path or known.startswith(path + "/")]:
                del entries[gone]
            continue
        mode = "link" if change.kind == "link" else "exec" if change.executable else "file"
        entries[path] = Entry(mode, store.put(change.content))
    return Tree(dict(sorted(entries.items())))


def difference(old: Tree, new: Tree, store: BlobStore) -> Changes:
    """What turns `old` into `new`."""
    changes: Changes = {}
    for path in sorted(old.entries.keys() | new.entries.keys()):
        before, after = old.entries.get(path), new.entries.get(path)
        if before == after:
            continue
        if after is None:
            changes[path] = FileChange("deleted")
        elif after.mode == "link":
            changes[path] = FileChange("link", store.get(after.name))
        else:
            changes[path] = FileChange("file", store.get(after.name), after.mode == "exec")
    return changes


def select(tree: Tree, keep: Callable[[str], bool]) -> Tree:
    """The files whose path `keep` accepts."""
    return Tree({path: entry for path, entry in tree.entries.items() if keep(path)})


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches a glob; `**` spans folders, a pattern without `/` matches the file's name anywhere."""
    name = path.rsplit("/", 1)[-1]
    return any(
        fnmatchcase(path, pattern.replace("**/", "*").replace("**", "*"))
        if "/" in pattern
        else fnmatchcase(name, pattern)
        for pattern in patterns
    )


def patch(old: Tree, new: Tree, store: BlobStore) -> str:
    """Unified diff in git's form. Binary files are named, not shown."""
    parts = []
    for path in sorted(old.entries.keys() | new.entries.keys()):
        before, after = old.entries.get(path), new.entries.get(path)
        if before != after:
            parts.append(_file_patch(path, before, after, store))
    return "".join(parts)


_MODES = {"file": "100644", "exec": "100755", "link": "120000"}


def _file_patch(path: str, before: Entry | None, after: Entry | None, store: BlobStore) -> str:
    header = f"diff --git a/{path} b/{path}\n"
    if before is None and after is not None:
        header += f"new file mode {_MODES[after.mode]}\n"
    elif after is None and before is not None:
        header += f"deleted file mode {_MODES[before.mode]}\n"
    elif before is not None and after is not None and before.mode != after.mode:
        header += f"old mode {_MODES[before.mode]}\nnew mode {_MODES[after.mode]}\n"
    try:
        old_text, new_text = (store.get(entry.name).decode() if entry else "" for entry in (before, after))
    except UnicodeDecodeError:
        return header + f"Binary files a/{path} and b/{path} differ\n"
    if old_text == new_text:
        return header
    lines = difflib.unified_diff(
        old_text.splitlines(keepends=True),
        new_text.splitlines(keepends=True),
        f"a/{path}" if before else "/dev/null",
        f"b/{path}" if after else "/dev/null",
    )
    marked = (line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
    return header + "".join(marked)


def checkout(name: str, store: BlobStore) -> Path:
    """The tree as an immutable folder in the cache, owned so that a sandbox may change its own copy of it.

    Made once per tree, safe for many processes at once; a half-made folder is never visible.
    """
    target = home() / "trees" / name.removeprefix("sha256:")
    if target.exists():
        return target
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target.parent / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if target.exists():
                return target
            for stale in target.parent.glob(".making-*"):  # a killed process left it; we hold the lock
                shutil.rmtree(stale)
            making = Path(tempfile.mkdtemp(dir=target.parent, prefix=".making-"))
            _write_files(load_tree(name, store), making, store, owner_for_lower())
            os.rename(making, target)
    return target


def export_tree(tree: Tree, out: Path, store: BlobStore) -> None:
    """Write a tree as ordinary files into a new folder. Raises TaskError when the folder holds something."""
    if out.exists() and any(out.iterdir()):
        raise TaskError(f"{out} is not empty", "choose a new folder with --out")
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        _write_files(tree, out, store, None)


def _write_files(tree: Tree, root: Path, store: BlobStore, owner: int | None) -> None:
    os.chmod(root, 0o755)
    # Links last: while files are written no component of a path can be a link.
    for path, entry in sorted(tree.entries.items(), key=lambda item: item[1].mode == "link"):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        content = store.get(entry.name)
        if entry.mode == "link":
            os.symlink(content.decode(), place)
            continue
        place.write_bytes(content)
        os.chmod(place, 0o755 if entry.mode == "exec" else 0o644)
        os.utime(place, (_EPOCH, _EPOCH))
    for current, folders, files in os.walk(root, topdown=False):
        if owner is not None:
            for item in (*files, *folders):
                os.chown(os.path.join(current, item), owner, owner, follow_symlinks=False)
        for folder in folders:
            if not os.path.islink(os.path.join(current, folder)):
                os.chmod(os.path.join(current, folder), 0o755)
    if owner is not None:
        os.chown(root, owner, owner)


_EPOCH = 1_704_067_200
"""Modification time of every file in a tree: 2024-01-01, so that equal trees look equal."""
