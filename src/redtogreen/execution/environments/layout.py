"""Where a project keeps its packages and its tests, found from its files alone."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from pathlib import Path, PurePosixPath

from redtogreen.execution.environments.declared import Declared, text_of
from redtogreen.execution.trees import LEAKS

NOT_PACKAGES = frozenset(
    (
        *("test", "tests", "testing", "doc", "docs", "documentation", "example", "examples", "sample", "samples"),
        *("demo", "demos", "bench", "benchmark", "benchmarks", "perf", "profiling", "script", "scripts", "tool"),
        *("tools", "ci", "dev", "devtools", "tasks", "build", "dist", "requirements", "fuzz", "fuzzing", "site"),
        *("website", "news", "changelog"),
    )
)
"""Folders beside a package, in a flat layout, that are not part of what the project provides."""
NOT_MODULES = frozenset(
    ("setup", "conftest", "noxfile", "tasks", "fabfile", "versioneer", "dodo", "manage", "ez_setup", "tests", "test")
)
NOT_SOURCE = frozenset(
    (
        *("test", "tests", "testing", "doc", "docs", "example", "examples", "benchmarks", "node_modules", "bundled"),
        *("_vendor", "_vendored", "vendor", "vendored", "extern", "_extern", "externals", "third_party", "thirdparty"),
    )
)
"""Folders inside a package whose files are not worth mutating: tests, and code of others."""
GENERATED = frozenset(
    ("_version.py", "__version__.py", "version.py", "__about__.py", "_about.py", "__pkginfo__.py", "_parsetab.py")
)
TEST_FILES = ("test_*.py", "*_test.py")
"""pytest's own `python_files`."""


def python_files(root: Path) -> list[str]:
    """Every Python file by POSIX path, sorted; caches, builds and hidden folders left out; links not followed."""
    found = []
    for current, folders, files in os.walk(root):
        at_top = Path(current) == root
        folders[:] = sorted(
            name for name in folders if not _skipped(name, at_top) and not os.path.islink(f"{current}/{name}")
        )
        for name in files:
            if name.endswith(".py") and os.path.isfile(os.path.join(current, name)):
                found.append(Path(current, name).relative_to(root).as_posix())
    return sorted(found)


def _skipped(name: str, at_top: bool) -> bool:
    if name.startswith("."):
        return True
    return any(fnmatch.fnmatchcase(name, leak) for leak in LEAKS if at_top or leak not in ("build", "dist", "venv"))


def import_roots(files: list[str], declared: Declared) -> list[str]:
    """Folders to be put on the import path, in order; "." is always the last."""
    tops = {PurePosixPath(file).parts[0] for file in files if "/" in file}
    roots = []
    for candidate in [*declared.package_roots, "src"]:
        plain = str(PurePosixPath(candidate))
        inside = [file for file in files if file.startswith(plain + "/")]
        if plain in (".", "") or plain.startswith(("/", "..")) or plain in roots or not inside:
            continue
        if plain.split("/")[0] in tops and f"{plain}/__init__.py" not in files:
            roots.append(plain)
    return [*roots, "."]


def packages(files: list[str], roots: list[str], known: list[str]) -> list[str]:
    """Top-level import names the project provides. `known`: its own name, then names from a top_level.txt."""
    names: set[str] = set()
    doubtful = NOT_PACKAGES - set(known)
    for root in roots:
        if root == "." and len(roots) > 1 and names:
            break  # what lies beside src/ is not part of the project
        prefix = "" if root == "." else root + "/"
        for file in files:
            if not file.startswith(prefix):
                continue
            parts = file.removeprefix(prefix).split("/")
            if len(parts) == 1:
                name = parts[0].removesuffix(".py")
                if name.isidentifier() and name not in NOT_MODULES and not is_test_name(parts[0], TEST_FILES):
                    names.add(name)
            elif parts[0].isidentifier() and (root != "." or parts[0] not in doubtful):
                regular = f"{prefix}{parts[0]}/__init__.py" in files
                nested = len(parts) > 2 and parts[-1] == "__init__.py"
                if regular or (nested and parts[0] not in doubtful and not _only_tests(prefix + parts[0], files)):
                    names.add(parts[0])
    listed = names & set(known[1:])
    return sorted(listed or names)


def _only_tests(folder: str, files: list[str]) -> bool:
    inside = [file for file in files if file.startswith(folder + "/") and not file.endswith("/__init__.py")]
    return all(
        NOT_SOURCE & set(file.split("/")) or is_test_name(file.rsplit("/", 1)[-1], TEST_FILES) for file in inside
    )


def listed_packages(root: Path) -> list[str]:
    """Names in the top_level.txt of an *.egg-info folder."""
    names: list[str] = []
    for folder in [*root.glob("*.egg-info"), *root.glob("*/*.egg-info")]:
        names += (text_of(folder / "top_level.txt") or "").split()
    return names


def is_test_name(name: str, patterns: tuple[str, ...] | list[str]) -> bool:
    """Whether a file of this name holds tests."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def test_paths(files: list[str], declared: Declared) -> list[str]:
    """Folders and files that hold the tests, sorted: the configured ones, else the ones found."""
    patterns = _words(declared.pytest.get("python_files")) or list(TEST_FILES)
    holding = [
        file for file in files if is_test_name(file.rsplit("/", 1)[-1], patterns) or is_test_name(file, patterns)
    ]
    configured = [str(PurePosixPath(path)) for path in _words(declared.pytest.get("testpaths"))]
    chosen = [file for file in holding if _below_any(file, configured)] if configured else holding
    if not chosen and configured:  # pytest then falls back to the root as well
        chosen = holding
    paths: set[str] = set()
    for file in chosen:
        parts = file.split("/")
        tops = [index for index, part in enumerate(parts[:-1]) if part in ("test", "tests", "testing")]
        paths.add("/".join(parts[: tops[0] + 1]) if tops else file)
    return sorted(paths)


def _below_any(file: str, folders: list[str]) -> bool:
    return any(
        folder in (".", file) or file.startswith(folder + "/") or fnmatch.fnmatchcase(file, folder + "/*")
        for folder in folders
    )


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            return value.split()
    return [str(item) for item in value] if isinstance(value, list) else []


def source_files(files: list[str], roots: list[str], names: list[str], tests: list[str]) -> list[str]:
    """Files of the project's packages that may be mutated."""
    found = set()
    for file in files:
        root = next((root for root in roots if root == "." or file.startswith(root + "/")), ".")
        parts = (file if root == "." else file.removeprefix(root + "/")).split("/")
        base = parts[-1]
        if parts[0].removesuffix(".py") not in names or NOT_SOURCE & set(parts[:-1]):
            continue
        if base in GENERATED or base in ("conftest.py", "setup.py") or is_test_name(base, TEST_FILES):
            continue
        if not _below_any(file, tests):
            found.add(file)
    return sorted(found)


_VERSION = re.compile(
    r"""^(?:__version__|version|VERSION)\s*(?::\s*\w+\s*)?=\s*['"]([0-9][\w.+!-]*)['"]""", re.MULTILINE
)


def version_in_sources(root: Path, files: list[str], roots: list[str], names: list[str]) -> str | None:
    """A version written as a literal in the package itself."""
    for folder in roots:
        prefix = "" if folder == "." else folder + "/"
        for name in names:
            places = [
                f"{prefix}{name}.py",
                f"{prefix}{name}/__init__.py",
                *(f"{prefix}{name}/{file}" for file in sorted(GENERATED)),
            ]
            for place in places:
                if place in files and (found := _VERSION.search(text_of(root / place) or "")):
                    return found[1]
    return None
