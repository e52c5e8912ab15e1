"""Small projects, and wheels made by hand: nothing here needs a network."""

from __future__ import annotations

import os
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """write({path: text}, name="project"): a folder with these files."""

    def write_(files: dict[str, str], name: str = "project") -> Path:
        folder = tmp_path / name
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(textwrap.dedent(text))
        return folder

    return write_


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """index(name, {path: text}, requires=[], entry_points=""): a wheel in the only place pip may look."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    def add(
        name: str, files: dict[str, str], version: str = "1.0", requires: tuple[str, ...] = (), entry_points=""
    ) -> None:
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        everything = {
            **files,
            f"{info}/METADATA": metadata,
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        if entry_points:
            everything[f"{info}/entry_points.txt"] = entry_points
        record = f"{info}/RECORD"
        everything[record] = "".join(f"{path},,\n" for path in [*everything, record])
        with zipfile.ZipFile(folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl", "w") as wheel:
            for path, text in everything.items():
                wheel.writestr(path, text)

    return add
