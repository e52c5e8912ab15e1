"""Which of an agent's changes count, and the pinned tree they are laid over.

The grading tree is the start state's sources with every protected file taken from the reference. Of the agent's
changes only those go on top that cannot decide a verdict by themselves: no tests, no test configuration, nothing the
interpreter loads unasked, nothing that stands in the place of another module. What is dropped and could have changed
the verdict is reported as a `Finding`; by-products of honest work (caches, new test files) are dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from redtogreen.errors import RecordError
from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.execution.trees import Tree, check_path, load_tree, matches
from redtogreen.grading.shadowing import Shadows
from redtogreen.records import Finding, Task
from redtogreen.store import BlobStore

TEST_CONFIGURATION = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    ".coveragerc",
    ".coveragerc.toml",
)
"""File names that steer a test run wherever they lie; protected in every task."""

MAX_FILE = 4 * 2**20
"""Bytes one changed file may have."""
MAX_TOTAL = 64 * 2**20
"""Bytes all changed files may have together."""
MAX_FINDINGS = 200

_STARTUP = ("sitecustomize", "usercustomize")
_BINARY = (".so", ".pyd", ".dll", ".dylib")
_CACHES = (
    ".pytest_cache",
    ".hypothesis",
    ".ruff_cache",
    ".mypy_cache",
    ".coverage",
    ".coverage.*",
    "htmlcov",
    ".tox",
    ".nox",
    "*.orig",
    "*.rej",
    "*~",
    "*.swp",
)


def is_protected(task: Task, path: str) -> bool:
    """Whether the grader takes this path from the reference, whatever the agent did to it."""
    return matches(path, task.protected) or path.rsplit("/", 1)[-1] in TEST_CONFIGURATION


def grading_tree(task: Task, store: BlobStore, *, evaluation: bool = True) -> Tree:
    """The pinned tree an attempt is judged in: the start state's sources with trusted protected files.

    With `evaluation`, protected files come from the reference (evaluation tests included); without it, or when the task
    has no reference, from the start state. Raises RecordError when a blob is missing.
    """
    start = load_tree(_start(task), store)
    if not evaluation or task.reference is None:
        return start
    reference = load_tree(task.reference.tree, store)
    entries = {path: entry for path, entry in start.entries.items() if not is_protected(task, path)}
    entries |= {path: entry for path, entry in reference.entries.items() if is_protected(task, path)}
    return Tree(dict(sorted(entries.items())))


def allowed_changes(task: Task, changes: Changes, store: BlobStore) -> tuple[Changes, list[Finding]]:
    """The changes that count, one per file, and a finding for each one dropped that could have changed the verdict.

    `changes` are relative to the start state. Deleted folders come back as one deletion per file. Never raises for what
    `changes` hold; raises RecordError when the task's own trees are missing.
    """
    start = load_tree(_start(task), store)
    folders = _folders(start)
    links = {path for path, entry in start.entries.items() if entry.mode == "link"}
    kept: Changes = {}
    findings: list[Finding] = []

    for path, change in _deletions(changes, start):
        kind = _dropped_name(task, path, change, start)
        if kind is None:
            kept[path] = change
        elif kind:
            findings.append(_blocked(kind, path))
    base = start.entries.keys() | (
        {path for path in load_tree(task.reference.tree, store).entries if is_protected(task, path)}
        if task.reference
        else set()
    )
    shadows = Shadows(base - kept.keys(), task, store)

    total = 0
    for path, change in sorted(changes.items()):
        if change.kind == "deleted":
            continue
        kind = _dropped_name(task, path, change, start)
        if kind is None:
            kind = _dropped_place(path, change, folders, start, links)
        if kind is None and path not in start.entries:
            kind = shadows.judge(path)
        if kind is None and change.kind == "file":
            total += len(change.content)
            if len(change.content) > MAX_FILE or total > MAX_TOTAL:
                kind = "size"
        if kind is None:
            kept[path] = change
        elif kind:
            findings.append(_blocked(kind, path))
    return dict(sorted(kept.items())), _bounded(findings)


def _start(task: Task) -> str:
    if task.start_state.tree is None:
        raise RecordError(f"task {task.task_id} names no start tree", "make the task again with: redtogreen tasks make")
    return task.start_state.tree


def _deletions(changes: Changes, start: Tree) -> Iterator[tuple[str, FileChange]]:
    """One deletion per file of the start state, for deleted files and folders alike."""
    gone = {path for path, change in changes.items() if change.kind == "deleted"}
    if gone:
        for path in start.entries:
            replaced = path in changes and changes[path].kind != "deleted"
            if not replaced and (path in gone or any(ancestor in gone for ancestor in _ancestors(path))):
                yield path, FileChange("deleted")


def _dropped_name(task: Task, path: str, change: FileChange, start: Tree) -> str | None:
    """Why a change is dropped for its name: a kind, "" for dropped silently, None for not dropped."""
    try:
        check_path(path)
        path.encode()
    except (RecordError, UnicodeEncodeError):
        return "bad_path"
    parts = path.split("/")
    name = parts[-1]
    if any(part in (".git", ".hg", ".svn") for part in parts):
        return "version_control"
    if "__pycache__" in parts or name.endswith((".pyc", ".pyo")):
        return "" if change.kind == "deleted" or _ordinary_bytecode(path, change) else "bytecode"
    if any(fnmatchcase(part, pattern) for part in parts for pattern in _CACHES):
        return ""
    if change.kind == "link":
        return "link"
    if any(part.endswith((".egg-info", ".dist-info", ".egg-link")) for part in parts):
        return "package_metadata"
    if name.endswith(".pth"):
        return "path_file"
    if any(part.split(".")[0] in _STARTUP for part in parts):
        return "startup_hook"
    if name in TEST_CONFIGURATION:
        return "test_configuration"
    if matches(path, task.protected):
        honest = path not in start.entries and change.kind == "file" and _is_new_test(name)
        return "" if honest else "protected_file"
    if name.endswith(_BINARY) and change.kind == "file":
        return "binary_module"
    return None


def _is_new_test(name: str) -> bool:
    """A new test file, or data for one, is honest work; it is not run, so it can be dropped without a word."""
    return not name.endswith(".py") or name.startswith("test_") or name.endswith("_test.py")


def _ordinary_bytecode(path: str, change: FileChange) -> bool:
    """What every Python run leaves behind: in `__pycache__`, checked against its source by time and size."""
    flags = change.content[4:8]
    return change.kind == "file" and path.split("/")[-2:-1] == ["__pycache__"] and flags == b"\0\0\0\0"


def _dropped_place(path: str, change: FileChange, folders: set[str], start: Tree, links: set[str]) -> str | None:
    """A file in the place of a folder, below a file, or written through a link would reach other paths than its own."""
    if path in links or any(ancestor in links for ancestor in _ancestors(path)):
        return "link"
    if path in folders or any(ancestor in start.entries for ancestor in _ancestors(path)):
        return "path_conflict"
    return None


def _ancestors(path: str) -> Iterator[str]:
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def _folders(tree: Tree) -> set[str]:
    return {ancestor for path in tree.entries for ancestor in _ancestors(path)}


def _blocked(kind: str, path: str) -> Finding:
    return Finding(kind=kind, status="blocked", evidence=path.encode("utf-8", "backslashreplace").decode())


def _bounded(findings: list[Finding]) -> list[Finding]:
    findings = sorted(findings, key=lambda finding: (finding.evidence, finding.kind))
    if len(findings) > MAX_FINDINGS:
        more = len(findings) - MAX_FINDINGS
        last = Finding(kind="more", status="blocked", evidence=f"and {more} more paths")
        findings = [*findings[:MAX_FINDINGS], last]
    return findings
