"""Every promise of the sandbox, each tried with the attack it is made against, as the user who runs the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import conformance


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    return conformance.Boxes(tmp_path_factory.mktemp("sandboxes"))


@pytest.mark.parametrize("case", conformance.cases().values(), ids=conformance.cases().keys())
def test_conformance(boxes, case):
    case(boxes)
