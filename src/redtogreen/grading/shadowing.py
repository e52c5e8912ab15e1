"""New files that would be imported in the place of the standard library, the test runner or another module."""

from __future__ import annotations

import sys
from collections.abc import Set

import msgspec

from redtogreen.records import Task
from redtogreen.store import BlobStore

RUNNER = frozenset(
    [
        "pytest",
        "_pytest",
        "py",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "exceptiongroup",
        "tomli",
        "typing_extensions",
        "colorama",
        "coverage",
        "hypothesis",
        "_hypothesis_pytestplugin",
        "_hypothesis_globals",
        "_hypothesis_ftz_detector",
        "sortedcontainers",
        "attr",
        "attrs",
        "pytest_timeout",
        "xdist",
        "execnet",
    ]
)
"""Top-level names the test runner imports."""

_HARMLESS = {"test", "this", "antigravity", "idlelib", "turtledemo"}
"""Standard library names no program needs; `test.py` is a usual name for a scratch file."""


class Shadows:
    """Judges new paths against the paths that are there (`existing`: the trusted tree, kept deletions taken out)."""

    def __init__(self, existing: Set[str], task: Task, store: BlobStore):
        self.existing = existing
        self.packages = {path.rpartition("/")[0] for path in existing if path.rpartition("/")[2] == "__init__.py"}
        self.folders = {path[:at] for path in existing for at, char in enumerate(path) if char == "/"}
        tests = {test.split("::", 1)[0] for test in (*task.tests.f2p, *task.tests.p2p, *task.tests.evaluation)}
        self.roots = {"", "src"} | {self._root(path) for path in tests}
        self.roots |= {self._root(f"{package}/__init__.py") for package in self.packages if package}
        self.reserved = (RUNNER | sys.stdlib_module_names | _installed(task, store)) - _HARMLESS

    def _root(self, path: str) -> str:
        """The folder that lands on the import path for a module: the first one upwards without `__init__.py`."""
        folder = path.rpartition("/")[0]
        while folder and folder in self.packages:
            folder = folder.rpartition("/")[0]
        return folder

    def judge(self, path: str) -> str | None:
        """`shadowing` when a new file at this path takes the place of something importable, else None."""
        folder, _, name = path.rpartition("/")
        if not name.endswith(".py"):
            return None
        module = folder if name == "__init__.py" else path.removesuffix(".py")
        if module and self._stands_over(module, package=name == "__init__.py"):
            return "shadowing"
        for root in self.roots:
            if root and not path.startswith(root + "/"):
                continue
            inside = path[len(root) + 1 if root else 0 :]
            top = inside.split("/", 1)[0].removesuffix(".py")
            place = f"{root}/{top}" if root else top
            if place in self.folders or f"{place}.py" in self.existing:
                continue  # the name was there before; what lies inside it was judged above
            if top in self.reserved or self._elsewhere(root, top):
                return "shadowing"
        return None

    def _stands_over(self, module: str, *, package: bool) -> bool:
        if package:
            return f"{module}.py" in self.existing
        return module in self.folders and any(
            path.startswith(f"{module}/") and path.endswith(".py") for path in self.existing
        )

    def _elsewhere(self, root: str, top: str) -> bool:
        """Whether another import root offers the same top-level name."""
        for other in self.roots - {root}:
            place = f"{other}/{top}" if other else top
            if f"{place}.py" in self.existing or place in self.packages:
                return True
        return False


def _installed(task: Task, store: BlobStore) -> set[str]:
    """Import names that the packages of the task's environment most likely provide."""
    if task.environment is None or not store.has(task.environment):
        return set()
    spec = msgspec.json.decode(store.get(task.environment), type=_Packages)
    return {name.lower().replace("-", "_") for name in (*spec.base, *spec.requirements)}


class _Packages(msgspec.Struct):
    """The part of an environment's specification that is looked at here."""

    base: dict[str, str] = {}
    requirements: dict[str, str] = {}
