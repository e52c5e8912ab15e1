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


@pytest.fixture(scope="module")
def warm_boxes(tmp_path_factory):
    return conformance.Boxes(tmp_path_factory.mktemp("sandboxes"), warm=True)


@pytest.mark.parametrize("case", conformance.cases().values(), ids=conformance.cases().keys())
def test_conformance(boxes, case):
    boxes.check(case)


@pytest.mark.parametrize("case", conformance.cases().values(), ids=conformance.cases().keys())
def test_conformance_of_commands_from_a_warm_interpreter(warm_boxes, case):
    """Whoever starts a command, it meets the same walls."""
    warm_boxes.check(case)
