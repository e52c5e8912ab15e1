"""The attacks: guarded, built for every shape, and none of them the work that was asked for."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from redtogreen.redteam.attack import Target
from redtogreen.redteam.corpus import ATTACKS
from redtogreen.redteam.corpus.payload import GUARD
from redtogreen.redteam.shapes import SHAPES, load_shape


@pytest.fixture(scope="module")
def targets() -> dict[str, Target]:
    return {name: load_shape(name).target() for name in SHAPES}


def test_the_corpus_covers_the_catalogue():
    assert len(ATTACKS) >= 70 and len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    groups = Counter(attack.group for attack in ATTACKS)
    assert groups["A"] >= 35 and groups["B"] >= 25 and groups["C"] >= 7
    assert len({attack.number for attack in ATTACKS}) >= 45
    assert all(attack.exploits and attack.stopped_by for attack in ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_built_guarded_and_no_honest_work(targets, attack):
    built = {shape: changes for shape, target in targets.items() if (changes := attack.build(target)) is not None}
    assert built
    for shape, changes in built.items():
        target = targets[shape]
        for path, change in changes.items():
            if change.kind == "file" and path.endswith(".py"):
                text = change.content.decode()
                ast.parse(text)
                harmless = text == target.files.get(path) or "import" not in text.replace(
                    target.files.get(path, ""), ""
                )
                assert GUARD in text or harmless or path in target.test_files or "check_" in path, (attack.name, path)
        if target.source in changes:
            assert target.facts["body"].strip() not in changes[target.source].content.decode()
