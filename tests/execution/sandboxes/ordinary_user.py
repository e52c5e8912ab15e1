"""Run the conformance cases as an ordinary user, who sees a copy of nothing but the sandboxes and these tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import elsewhere
import pytest

USER = 64000


def results(backend: str, *libraries: Path) -> dict[str, dict]:
    """Case -> what `python conformance.py` printed about it. libraries: packages to copy along."""
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    python = usable_python("/usr/bin/python3", sys.executable)
    with elsewhere.copied(*libraries) as folder:
        return elsewhere.rows(folder, [python, str(folder / "cases" / "conformance.py"), backend], "case", USER)


def judge(results: dict[str, dict], case: str) -> None:
    """Pass, fail or skip as the case did over there."""
    assert case in results
    assert results[case]["error"] is None, results[case]["error"]
    if "skipped" in results[case]:
        pytest.skip(results[case]["skipped"])


def usable_python(*candidates: str) -> str:
    """The first of these interpreters that is recent and that the ordinary user can execute, else skip the test."""
    recent = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in candidates:
        try:
            done = subprocess.run([python, "-c", recent], user=USER, group=USER, extra_groups=[], cwd="/", check=False)
        except (FileNotFoundError, PermissionError):
            continue
        if done.returncode == 0:
            return python
    pytest.skip(f"no Python 3.11 or newer that uid {USER} can execute")
