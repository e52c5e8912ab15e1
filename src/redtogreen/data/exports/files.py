"""Several JSON-lines files written side by side, each opened when its first row comes."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO


class JsonLinesFiles:
    """Use as a context manager; `rows` counts what each file got."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.rows: Counter[str] = Counter()
        self._open: dict[str, BinaryIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> JsonLinesFiles:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, name: str, line: bytes) -> None:
        """One line without its newline; `name` is the file's path inside the folder."""
        if name not in self._open:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[name] = self._stack.enter_context(open(path, "wb"))  # noqa: SIM115
        self._open[name].write(line + b"\n")
        self.rows[name] += 1

    def counts(self) -> dict[str, int]:
        return dict(sorted(self.rows.items()))
