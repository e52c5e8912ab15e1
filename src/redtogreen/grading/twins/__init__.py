"""Flipped twins: clones of the reward tests that a right solution must fail.

Whatever makes failing tests pass from inside the test process makes the twins pass too, and gives itself away.
`flips` finds what can be changed in a test, `composing` writes the test files that are run, `proving` keeps the twins
that the reference really fails, `judging` says what a run with twins came to.
"""

from __future__ import annotations

from redtogreen.grading.twins.judging import TwinnedRun, betrayals, twin
from redtogreen.grading.twins.proving import ProvenTwins, prove_twins

__all__ = ["ProvenTwins", "TwinnedRun", "betrayals", "prove_twins", "twin"]
