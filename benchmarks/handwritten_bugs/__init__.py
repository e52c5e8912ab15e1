"""Bugs written by hand, as people make them: what an agent is measured on that was never made by a mutation operator.

Each NAME.toml holds `project`, `version`, `file`, `mistake` (one sentence: what a person got wrong), `old` (the right
text, which occurs exactly once in the file) and `new` (the text with the bug). All of them break at least one test of
their project.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HandwrittenBug:
    """One bug of one released project."""

    name: str
    project: str
    version: str
    file: str
    """POSIX path inside the project's folder."""
    mistake: str
    old: str
    new: str


def load_bugs(folder: Path = Path(__file__).parent) -> list[HandwrittenBug]:
    """Every bug of the collection, sorted by name. Raises ValueError for a file that lacks a field."""
    bugs = []
    for path in sorted(folder.glob("*.toml")):
        try:
            bugs.append(HandwrittenBug(name=path.stem, **tomllib.loads(path.read_text(encoding="utf-8"))))
        except (TypeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{path}: {error}") from error
    return bugs


def apply_bug(bug: HandwrittenBug, folder: Path) -> Path:
    """Put a bug into a project's folder; returns the changed file.

    Raises ValueError when the right text does not occur exactly once: the folder then holds another version.
    """
    path = folder / bug.file
    text = path.read_text(encoding="utf-8")
    found = text.count(bug.old)
    if found != 1:
        raise ValueError(f"{path}: the text of {bug.name} occurs {found} times; it needs {bug.project} {bug.version}")
    path.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    return path
