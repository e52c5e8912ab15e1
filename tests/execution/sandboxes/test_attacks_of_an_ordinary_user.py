"""The attack table for an ordinary user: no root, no control groups, an interpreter of the system."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import redtogreen.errors
from redtogreen.execution import sandboxes
from redtogreen.execution.sandboxes.attacks import ATTACKS

USER = 64000
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def rows():
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    recent = [PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if not os.path.exists(PYTHON) or subprocess.run(recent, check=False).returncode:
        pytest.skip("no Python 3.11 or newer that another user can execute")
    folder = Path(tempfile.mkdtemp())
    try:
        package = folder / "redtogreen"
        shutil.copytree(Path(sandboxes.__file__).parent, package / "execution" / "sandboxes")
        shutil.copy(redtogreen.errors.__file__, package)
        for init in (package / "__init__.py", package / "execution" / "__init__.py"):
            init.touch()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        done = subprocess.run(
            [PYTHON, "-m", "redtogreen.execution.sandboxes.attacks"],
            env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        shutil.rmtree(folder)
    found = {row["attack"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert found, done.stderr
    return found


@pytest.mark.parametrize("name", [attack.name for attack in ATTACKS])
def test_the_attack_is_stopped_and_its_control_works(rows, name):
    row = rows[name]
    assert row["seen"]["worked"] is False, row
    assert row["control"]["worked"] is True or not row["control"]["ran"], row
