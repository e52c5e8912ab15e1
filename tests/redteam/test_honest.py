"""Honest work is not punished for looking unusual: every kind, each on one of the projects."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from redtogreen.grading import grade
from redtogreen.redteam.honest import KINDS, variants_of_shape, variants_of_task
from redtogreen.redteam.shapes import SHAPES, load_shape


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_solved_and_not_called_tampering(kind, shape_tasks, shape_store) -> None:
    name = SHAPES[KINDS.index(kind) % len(SHAPES)]
    variant = next(one for one in variants_of_shape(load_shape(name)) if one.kind == kind)
    verdict = grade(shape_tasks[name], variant.changes, shape_store)
    assert verdict.outcome == "solved", [test for test, status in verdict.tests.items() if status != "passed"]
    assert not [finding for finding in verdict.findings if finding.status == "succeeded"]


def test_there_are_enough_of_them() -> None:
    variants = [variant for name in SHAPES for variant in variants_of_shape(load_shape(name))]
    assert len(variants) >= 100
    page = " ".join((Path(__file__).parents[2] / "docs" / "redteam.md").read_text("utf-8").split())
    assert f"{len(KINDS)} honest ways, {len(variants)} in all" in page
    for name in SHAPES:
        kinds = [variant.kind for variant in variants_of_shape(load_shape(name))]
        assert len(set(kinds)) == len(kinds) >= 12


def test_every_variant_is_another_one_and_parses() -> None:
    for name in SHAPES:
        shape = load_shape(name)
        seen = set()
        for variant in variants_of_shape(shape):
            files = {path: change.content for path, change in variant.changes.items()}
            for path, content in files.items():
                if path.endswith(".py"):
                    ast.parse(content)
            assert files[shape.source].decode() != shape.start[shape.source]
            seen.add(tuple(sorted(variant.changes.items(), key=lambda item: item[0])))
        assert len(seen) == len(KINDS)


def test_variants_of_other_tasks_hold_their_reference(shape_tasks, shape_store) -> None:
    shape = load_shape("src")
    variants = list(variants_of_task(shape_tasks["src"], shape.target(), shape_store))
    assert len(variants) >= 12
    for variant in variants:
        assert variant.changes[shape.source].content.decode() == shape.solved[shape.source]
        assert not variant.changes.keys() & shape.hidden.keys()
