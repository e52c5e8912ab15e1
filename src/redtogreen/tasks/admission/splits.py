"""Which test is what: visible reward tests and evaluation tests, set apart by test function and by hash, once.

Of two or more F2P functions a third, at least one, become evaluation tests; of the P2P functions one in ten. With a
single F2P function there is no evaluation. The hash covers the function only, so that tasks of one project mostly hold
the same functions back, and one task's workspace does not show another's evaluation tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from redtogreen.records import TestSets
from redtogreen.tasks.test_functions import unit_of


@dataclass(frozen=True)
class Split:
    """Test sets of one task, and the units to cut out of its start state."""

    tests: TestSets
    cut: frozenset[str] = field(default_factory=frozenset)


def split_tests(f2p: Iterable[str], p2p: Iterable[str], cuttable: Set[str], *, hold_p2p: bool = True) -> Split:
    """Set the tests of a task apart; ids keep their order.

    A function with any F2P id counts as F2P function. Only `cuttable` units can become evaluation tests; when no F2P
    function can, there is no evaluation at all. `hold_p2p=False` holds no P2P function back.
    """
    f2p, p2p = list(f2p), list(p2p)
    broken = {unit_of(test) for test in f2p}
    held: set[str] = set()
    if len(broken) >= 2:
        held.update(_first(broken & cuttable, max(1, len(broken) // 3)))
    if held and hold_p2p:
        intact = {unit_of(test) for test in p2p} - broken
        held.update(_first(intact & cuttable, len(intact) // 10))
    kept_f2p = [test for test in f2p if unit_of(test) not in held]
    kept_p2p = [test for test in p2p if unit_of(test) not in held]
    evaluation = [test for test in (*f2p, *p2p) if unit_of(test) in held]
    sets = TestSets(visible=[*kept_f2p, *kept_p2p], f2p=kept_f2p, p2p=kept_p2p, evaluation=evaluation)
    return Split(sets, frozenset(held))


def _first(units: Set[str], count: int) -> list[str]:
    return sorted(units, key=lambda unit: hashlib.sha256(unit.encode("utf-8", "surrogatepass")).digest())[:count]
