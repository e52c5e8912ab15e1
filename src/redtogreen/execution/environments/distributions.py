"""Installed distributions: what redtogreen's own installation brings to every environment, and how to copy it."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from redtogreen.errors import EnvironmentUnavailable

BASE = ("pytest", "coverage", "hypothesis", "ruff")
"""In every environment, with everything they require."""


def base_distributions() -> dict[str, metadata.Distribution]:
    """The base packages and their requirements, as installed beside redtogreen. Raises EnvironmentUnavailable."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(name) for name in BASE]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        try:
            distribution = metadata.distribution(requirement.name)
        except metadata.PackageNotFoundError:
            raise EnvironmentUnavailable(
                f"{requirement.name} is not installed beside redtogreen",
                "install redtogreen again with its dependencies",
            ) from None
        found[name] = distribution
        waiting += [
            needed
            for needed in map(Requirement, distribution.requires or [])
            if needed.marker is None or needed.marker.evaluate({"extra": ""})
        ]
    return dict(sorted(found.items()))


def base_versions() -> dict[str, str]:
    """Name -> version of the base packages."""
    return {name: distribution.version for name, distribution in base_distributions().items()}


def distributions_in(folder: Path) -> dict[str, metadata.Distribution]:
    """The distributions of one site-packages folder."""
    found = metadata.distributions(path=[str(folder)])
    return {canonicalize_name(item.metadata["Name"]): item for item in found if item.metadata["Name"]}


def copy_distribution(distribution: metadata.Distribution, site: Path, programs: Path) -> None:
    """Copy a distribution's files: modules and data to `site`, binary programs to `programs`.

    Scripts that start with the path of some interpreter are left out (`write_script` makes them anew), so is byte code.
    Raises EnvironmentUnavailable when the distribution does not list its files.
    """
    name = distribution.metadata["Name"]
    if distribution.files is None:
        raise EnvironmentUnavailable(
            f"{name} does not list its files, so it cannot be brought into an environment",
            f"install it again with pip: pip install --force-reinstall {name}",
        )
    for file in distribution.files:
        if "__pycache__" in file.parts or file.suffix == ".pyc":
            continue
        source = Path(str(file.locate()))
        if not source.is_file():
            continue
        if ".." not in file.parts:
            _copy_file(source, site.joinpath(*file.parts))
        elif source.parent.name in ("bin", "Scripts") and not _is_script(source):
            _copy_file(source, programs / source.name)


def _is_script(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if os.access(source, os.X_OK) and source.stat().st_mode & 0o111 else 0o644)


def write_script(path: Path, interpreter: str, target: str) -> None:
    """A program that calls an entry point `module:object`."""
    module, _, attribute = target.partition(":")
    attribute = attribute.partition("[")[0].strip()
    text = f"#!{interpreter}\nimport sys\n\nimport {module.strip()}\n\nsys.exit({module.strip()}.{attribute}())\n"
    path.write_text(text)
    os.chmod(path, 0o755)


def console_scripts(distribution: metadata.Distribution) -> dict[str, str]:
    """Name -> `module:object` of a distribution's programs."""
    return {point.name: point.value for point in distribution.entry_points if point.group == "console_scripts"}


def interpreter() -> Path:
    """The real interpreter under whatever virtual environment this process runs in."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return Path(os.path.realpath(base))


def interpreter_prefix() -> Path:
    """The folder the interpreter and its standard library live under."""
    return Path(os.path.realpath(sys.base_prefix))


def foreign_folders() -> list[str]:
    """Folders of the interpreter and the system that may hold another copy of a project: hidden in every sandbox."""
    patterns = [f"lib*/{python}/{name}" for python in ("python3*", "pypy3*") for name in _FOREIGN]
    found = {
        str(path)
        for prefix in (interpreter_prefix(), Path("/usr"), Path("/usr/local"))
        for pattern in [*patterns, "share/python-wheels"]
        for path in prefix.glob(pattern)
        if path.is_dir() and not path.is_symlink()
    }
    return sorted(found)


_FOREIGN = ("site-packages", "dist-packages", "ensurepip/_bundled")
