"""Open a project: a folder, a git checkout or a source archive; nothing of it is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.environments import archives, layout
from redtogreen.execution.environments.declared import Declared, read_declared
from redtogreen.execution.environments.requirements import runtime_requirements, test_requirements


@dataclass(frozen=True)
class Project:
    """What is known of a project from its files. Paths are POSIX and relative to `root`."""

    root: Path
    name: str
    """As declared, else the folder's name; normalised (PEP 503)."""
    version: str | None
    license: str | None
    origin: Literal["sdist", "folder", "git"]
    import_roots: list[str]
    """Folders for the import path, in order: ["src", "."] or ["."]."""
    test_paths: list[str]
    """Folders and files that hold the tests."""
    packages: list[str]
    """Top-level import names it provides."""
    requirements: list[str]
    test_requirements: list[str]
    source_files: list[str]
    """Python files that may be mutated: inside the packages, no tests, no vendored and no generated code."""
    entry_points: dict[str, dict[str, str]] = field(default_factory=dict)
    """Group -> name -> "module:object"."""
    notes: list[str] = field(default_factory=list)
    """What was left out, and why."""


def open_project(path: Path, work: Path) -> Project:
    """Read a project. An archive is unpacked into `work`; of a git checkout the tracked files are copied there.

    Raises UsageError when there is nothing at the path, TaskError when it holds no Python package or no tests.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"{path} does not exist", "give a project's folder, a git checkout or a source archive")
    notes: list[str] = []
    origin: Literal["sdist", "folder", "git"] = "folder"
    root = path.resolve()
    if path.is_file():
        suffix = next((suffix for suffix in archives.SUFFIXES if path.name.endswith(suffix)), None)
        if suffix is None:
            raise UsageError(
                f"{path} is neither a folder nor a source archive", f"archives end in {', '.join(archives.SUFFIXES)}"
            )
        root, notes = archives.unpack(path, _fresh(work, path.name.removesuffix(suffix)))
        origin = "sdist"
    elif (path / ".git").exists() and (tracked := _tracked_files(root)):
        root = _copy(root, tracked, _fresh(work, root.name))
        origin = "git"
    return _describe(root, path, origin, notes)


def _describe(root: Path, path: Path, origin: Literal["sdist", "folder", "git"], notes: list[str]) -> Project:
    declared = read_declared(root)
    files = layout.python_files(root)
    roots = layout.import_roots(files, declared)
    name = normalised(declared.name or path.name.split("-")[0])
    names = layout.packages(files, roots, [name.replace("-", "_"), *layout.listed_packages(root)])
    tests = layout.test_paths(files, declared)
    sources = layout.source_files(files, roots, names, tests)
    if not names or not sources:
        raise TaskError(f"{path} holds no Python package", "point at the folder that holds the package and its tests")
    if not tests:
        raise TaskError(
            f"{path} has no tests: no file is named test_*.py or *_test.py",
            "choose a project that ships its tests; many source archives on PyPI do, and git checkouts nearly always",
        )
    version = declared.version or layout.version_in_sources(root, files, roots, names)
    return Project(
        root=root,
        name=name,
        version=version,
        license=declared.license or _license_file(root),
        origin=origin,
        import_roots=roots,
        test_paths=tests,
        packages=names,
        requirements=runtime_requirements(declared, notes),
        test_requirements=test_requirements(root, declared, notes),
        source_files=sources,
        entry_points=_plain_entry_points(declared),
        notes=notes,
    )


def normalised(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "project"


def _plain_entry_points(declared: Declared) -> dict[str, dict[str, str]]:
    plain = re.compile(r"[\w.-]+")
    target = re.compile(r"[\w.]+( *: *[\w.]+)?( *\[[\w., -]*\])?")
    return {
        group: {name: value for name, value in points.items() if plain.fullmatch(name) and target.fullmatch(value)}
        for group, points in declared.entry_points.items()
        if plain.fullmatch(group)
    }


_LICENCES = (
    ("MIT", "Permission is hereby granted, free of charge"),
    ("Apache-2.0", "Apache License"),
    ("MPL-2.0", "Mozilla Public License"),
    ("BSD", "Redistribution and use in source and binary forms"),
    ("GPL", "GNU GENERAL PUBLIC LICENSE"),
)


def _license_file(root: Path) -> str | None:
    for path in sorted(root.glob("LICEN[CS]E*")):
        if path.is_file() and not path.is_symlink():
            text = path.read_bytes()[:5000].decode("utf-8", "replace")
            return next((name for name, mark in _LICENCES if mark in text), None)
    return None


def _fresh(work: Path, name: str) -> Path:
    target = work / (re.sub(r"[^\w.-]", "_", name) or "project")
    if target.exists():
        shutil.rmtree(target)
    return target


def _tracked_files(root: Path) -> list[str]:
    """What git tracks and is still there; empty when there is no git, or it does not know the folder.

    The user's own folder, but its configuration may name programs: none of it is obeyed.
    """
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", f"safe.directory={root}"]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            [*command, "ls-files", "-z", "--cached"],
            cwd=root,
            env=environment,
            capture_output=True,
            check=False,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    names = [name.decode("utf-8", "surrogateescape") for name in done.stdout.split(b"\0") if name]
    return [
        name
        for name in names
        if os.path.lexists(root / name) and ((root / name).is_file() or (root / name).is_symlink())
    ]


def _copy(root: Path, files: list[str], target: Path) -> Path:
    target.mkdir(parents=True)
    for name in files:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, place, follow_symlinks=False)
    return target
