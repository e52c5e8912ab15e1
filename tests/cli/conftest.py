"""Runs the real program in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cli(tmp_path: Path) -> Run:
    """`cli("score", "F.jsonl", "--json")` in an empty folder; extra environment through `env=`."""

    def run(*words: object, env: dict[str, str] | None = None, cwd: Path | None = None):
        return subprocess.run(
            [sys.executable, "-m", "redtogreen.cli.main", *map(str, words)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=cwd or tmp_path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
        )

    return run
