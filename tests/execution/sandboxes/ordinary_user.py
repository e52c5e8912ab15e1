"""Run the conformance cases as an ordinary user, who sees a copy of nothing but the sandboxes and these tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import conformance
import pytest

import redtogreen.errors
from redtogreen.execution import sandboxes

USER = 64000


def results(backend: str, *libraries: Path) -> dict[str, dict]:
    """Case -> what `python conformance.py` printed about it. libraries: packages to copy along."""
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    python = next((p for p in ("/usr/bin/python3", sys.executable) if _usable(p)), None)
    if python is None:
        pytest.skip(f"no Python 3.11 or newer that uid {USER} can execute")
    folder = Path(tempfile.mkdtemp())
    try:
        package = folder / "src" / "redtogreen"
        shutil.copytree(Path(sandboxes.__file__).parent, package / "execution" / "sandboxes")
        shutil.copy(redtogreen.errors.__file__, package)
        for library in libraries:
            shutil.copytree(library, folder / "src" / library.name)
        for init in (package / "__init__.py", package / "execution" / "__init__.py"):
            init.touch()
        cases = folder / "cases"
        cases.mkdir()
        for module in ("conformance", *conformance.MODULES):
            shutil.copy(Path(__file__).parent / f"{module}.py", cases)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        done = subprocess.run(
            [python, str(cases / "conformance.py"), backend],
            env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=300,
        )
    finally:
        shutil.rmtree(folder)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and lines, done.stderr
    return {line["case"]: line for line in lines}


def judge(results: dict[str, dict], case: str) -> None:
    """Pass, fail or skip as the case did over there."""
    assert case in results
    assert results[case]["error"] is None, results[case]["error"]
    if "skipped" in results[case]:
        pytest.skip(results[case]["skipped"])


def _usable(python: str) -> bool:
    if not os.path.exists(python):
        return False
    check = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    try:
        return subprocess.run(check, user=USER, group=USER, extra_groups=[], cwd="/", check=False).returncode == 0
    except PermissionError:
        return False
