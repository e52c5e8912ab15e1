"""The same promises, kept for an ordinary user: no root, no control groups, an interpreter of the system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import conformance
import ordinary_user


@pytest.fixture(scope="module")
def results():
    return ordinary_user.results("namespace")


@pytest.mark.parametrize("case", conformance.cases().keys())
def test_conformance_of_an_ordinary_user(results, case):
    ordinary_user.judge(results, case)
