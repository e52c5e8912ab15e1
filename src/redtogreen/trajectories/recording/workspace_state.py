"""What the agent's workspace holds after each step: its content hash and what changed, kept in memory only.

Contents stay off the disk here, since they have not been searched for secrets yet.
"""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.execution.trees import Tree, apply_changes, patch
from redtogreen.records.canonical import digest
from redtogreen.store import BlobStore

MAX_DIFFED = 512 * 2**10
"""Bytes; a larger file is named in a diff, not shown."""
UNSHOWN = "\nBinary files "
"""Stands in the diff of a file that is named, not shown."""
BY_PRODUCTS = (
    ".git",
    "__pycache__",
    "*.pyc",
    ".pytest_cache",
    ".hypothesis",
    ".ruff_cache",
    ".mypy_cache",
    ".coverage",
    ".coverage.*",
    "htmlcov",
)
"""What tools leave behind by running; no part of the recorded state (the grader sees it nevertheless)."""


class WorkspaceState:
    """The start tree and what an agent has made of it so far."""

    def __init__(self, start: Tree, store: BlobStore):
        self._memory = _Memory(store)
        self.start = start
        self.tree = start
        self.hash = start.hash

    def update(self, changes: Changes) -> dict[str, str]:
        """Take in the workspace's changes against the start; returns path -> diff of what changed since last time."""
        before, self.tree = self.tree, apply_changes(self.start, recorded(changes), self._memory)
        if self.tree.entries == before.entries:
            return {}
        self.hash = self.tree.hash
        shown = self._diffs(before, self.tree)
        self._memory.keep({entry.name for entry in self.tree.entries.values()})
        return shown

    def against_start(self, paths: Collection[str] | None = None) -> dict[str, str]:
        """Path -> diff from the start state, of these paths or of all."""
        return self._diffs(self.start, self.tree, paths)

    def _diffs(self, before: Tree, after: Tree, paths: Collection[str] | None = None) -> dict[str, str]:
        shown = {}
        for path in sorted(before.entries.keys() | after.entries.keys() if paths is None else paths):
            pair = [tree.entries.get(path) for tree in (before, after)]
            if pair[0] == pair[1]:
                continue
            if any(entry and len(self._memory.get(entry.name)) > MAX_DIFFED for entry in pair):
                shown[path] = f"diff --git a/{path} b/{path}\nBinary files a/{path} and b/{path} differ\n"
                continue
            old, new = (Tree({path: entry} if entry else {}) for entry in pair)
            shown[path] = patch(old, new, self._memory)
        return shown


def recorded(changes: Changes) -> Changes:
    """Without by-products."""
    return {path: change for path, change in changes.items() if not _by_product(path)}


def _by_product(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return True
    return not path.isprintable() or any(
        fnmatchcase(part, pattern) for part in path.split("/") for pattern in BY_PRODUCTS
    )


class _Memory(BlobStore):
    """A store whose new contents stay in memory, over one that is read."""

    def __init__(self, below: BlobStore):
        super().__init__(below.root)
        self._below = below
        self._held: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        name = digest(content)
        self._held[name] = content
        return name

    def has(self, name: str) -> bool:
        return name in self._held or self._below.has(name)

    def get(self, name: str) -> bytes:
        held = self._held.get(name)
        return self._below.get(name) if held is None else held

    def keep(self, names: set[str]) -> None:
        """Forget the contents that are not named."""
        self._held = {name: content for name, content in self._held.items() if name in names}
