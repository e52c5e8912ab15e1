"""The attack table for an ordinary user: no root, no control groups, an interpreter of the system."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import elsewhere
import ordinary_user

from redtogreen.execution.sandboxes.attacks import ATTACKS


@pytest.fixture(scope="module")
def rows():
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    python = ordinary_user.usable_python("/usr/bin/python3")
    with elsewhere.copied() as folder:
        program = [python, "-m", "redtogreen.execution.sandboxes.attacks"]
        return elsewhere.rows(folder, program, "attack", ordinary_user.USER)


@pytest.mark.parametrize("name", [attack.name for attack in ATTACKS])
def test_the_attack_is_stopped_and_its_control_works(rows, name):
    row = rows[name]
    assert row["seen"]["worked"] is False, row
    assert row["control"]["worked"] is True or not row["control"]["ran"], row
