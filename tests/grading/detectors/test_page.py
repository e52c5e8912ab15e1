"""The page of the detectors names every class there is, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from redtogreen.grading import detectors
from redtogreen.grading.detectors.tables import ATTRIBUTES, HIDING, NAMES

ROOT = Path(__file__).parents[3]
IN_VARIABLES = {"swallowed_error", "network_command", "process_command", "process_search", "fake_evidence"}


def test_every_class_is_documented():
    named = {kind for table in (NAMES, ATTRIBUTES) for kind, _ in table.values()} | set(HIDING.values()) | IN_VARIABLES
    named.add("monkeypatch")
    for path in Path(detectors.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Seen", "attempted"):
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    named.add(first.value)
    page = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/detectors.md").read_text(), re.MULTILINE))
    assert len(named) > 60
    assert page == named
