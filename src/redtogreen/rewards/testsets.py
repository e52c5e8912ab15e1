"""Which of the measured tests were failing at the start (F2P) and which were passing (P2P).

A row may say so itself, in fields of `extra` that travel with it:

    extra.tests        {"f2p": [ids], "p2p": [ids], "weights": {id: number}}   without `p2p`: all other graded or probed
                       tests; without `weights`: all equal
    extra.start_probe  a probe of the start state, in the form of `probe`
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import msgspec

from redtogreen.errors import RecordError
from redtogreen.records import Probe, Trajectory
from redtogreen.rewards.measurement import exact


@dataclass(frozen=True, slots=True)
class NamedSets:
    """Test ids of one task, with their weights."""

    f2p: tuple[str, ...]
    p2p: tuple[str, ...]
    weights: dict[str, Fraction]


class _Stated(msgspec.Struct, forbid_unknown_fields=False):
    f2p: list[str] = []
    p2p: list[str] | None = None
    weights: dict[str, float] = {}


def named_sets(trajectory: Trajectory) -> NamedSets | None:
    """The sets a row states in `extra.tests`; None when it states none.

    Raises RecordError when the field does not have the documented form.
    """
    stated = trajectory.extra.get("tests")
    if stated is None:
        return None
    try:
        sets = msgspec.convert(stated, _Stated)
    except msgspec.ValidationError as error:
        raise RecordError(
            f"task {trajectory.task_id}, attempt {trajectory.attempt}: extra.tests: {error}",
            'expected {"f2p": [ids], "p2p": [ids], "weights": {id: number above 0}}',
        ) from None
    if bad := sorted(name for name, weight in sets.weights.items() if not 0 < weight < float("inf")):
        raise RecordError(
            f"task {trajectory.task_id}, attempt {trajectory.attempt}: extra.tests.weights: {bad[0]} must be above 0"
        )
    weights = {name: exact(weight) for name, weight in sets.weights.items()}
    others = _all_tests(trajectory) if sets.p2p is None else set(sets.p2p)
    return NamedSets(tuple(sorted(set(sets.f2p))), tuple(sorted(others - set(sets.f2p))), weights)


def _all_tests(trajectory: Trajectory) -> set[str]:
    """Every reward test the row says anything about."""
    grade = trajectory.metadata.grade
    probed = (step.probe.tests for step in trajectory.trajectory if step.probe is not None)
    return set(grade.tests if grade else ()).union(*probed)


def weight_of(sets: NamedSets, test: str) -> Fraction:
    return sets.weights.get(test, Fraction(1))


def start_probe(trajectory: Trajectory) -> Probe | None:
    """The measurement of the start state: the row's own, else one made before anything was changed."""
    stated = trajectory.extra.get("start_probe")
    if stated is not None:
        try:
            return msgspec.convert(stated, Probe)
        except msgspec.ValidationError as error:
            raise RecordError(
                f"task {trajectory.task_id}, attempt {trajectory.attempt}: extra.start_probe: {error}"
            ) from None
    start = trajectory.start_state.tree
    for step in trajectory.trajectory:
        unchanged = step.stage == "plan" if start is None or step.tree is None else step.tree == start
        if not unchanged or step.diff:
            return None
        if step.probe is not None:
            return step.probe
    return None


def sets_for(trajectory: Trajectory) -> NamedSets:
    """The sets as stated, else as measured at the start, else as good as the probes can tell.

    Without any measurement of the start a test counts as F2P when it fails in some probe, and as P2P otherwise.
    """
    if (stated := named_sets(trajectory)) is not None:
        return stated
    probes = [step.probe for step in trajectory.trajectory if step.probe is not None]
    start = start_probe(trajectory)
    known = {name for probe in probes for name in probe.tests} | set(start.tests if start else ())
    judges = [start] if start is not None else probes
    failing = {name for probe in judges for name, status in probe.tests.items() if status != "passed"}
    return NamedSets(tuple(sorted(failing)), tuple(sorted(known - failing)), {})
