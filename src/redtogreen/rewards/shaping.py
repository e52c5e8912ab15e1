"""Placing credit at steps by differences of a potential (Ng, Harada, Russell 1999), in exact arithmetic.

    Phi(s) = F(s) x K(s) - B(s) - (the same at the start state)
    F_t    = Phi(s_t) - Phi(s_(t-1)),   Phi(start) = 0,   Phi(after the last step) = 0

    F  weighted share of the fail-to-pass tests that pass in this state; 0 at the start by definition
    K  share of the probed pass-to-pass tests that still pass; 1 at the start by definition
    B  how badly the code is broken: 1 when a file does not parse, 2/3 when an import fails, 1/3 when tests cannot
       be collected, 0 when tests run

Phi is a function of the workspace alone, so a way back to an earlier state takes back exactly what the way there
paid, and the steps of a trajectory sum to exactly 0: they say where credit belongs and create none. Differences are
kept when they are negative; paying only for improvements would pay for breaking and mending in a loop.
Phi is rounded to multiples of 2^-20, so that every difference is a number a float holds exactly.
"""

from __future__ import annotations

from fractions import Fraction

from redtogreen.records import Evidence, Probe, Trajectory
from redtogreen.rewards.measurement import FunctionComponent, Measurement
from redtogreen.rewards.testsets import NamedSets, sets_for, start_probe, weight_of

_BROKEN = {"syntax": Fraction(1), "import": Fraction(2, 3), "collection": Fraction(1, 3)}
GRID = 2**20


def quantised(number: Fraction) -> Fraction:
    """The nearest multiple of 2^-20."""
    return Fraction(round(number * GRID), GRID)


def raw_potential(probe: Probe, sets: NamedSets) -> Fraction:
    """F x K - B of one measured state, before the start's is taken off; in [-1, 1]."""
    return _solved_share(probe, sets) * _kept_share(probe, sets) - _brokenness(probe)


def potentials(trajectory: Trajectory) -> list[Fraction]:
    """Phi after each step, in [-1, 2]; a step without a probe keeps the potential of the step before it."""
    sets = sets_for(trajectory)
    start = start_probe(trajectory)
    # F is 0 at the start whatever a stale measurement says: F2P tests are those that fail there.
    origin = -_brokenness(start) if start is not None else Fraction(0)
    phi, found = Fraction(0), []
    for step in trajectory.trajectory:
        if step.probe is not None:
            phi = quantised(raw_potential(step.probe, sets) - origin)
        found.append(phi)
    return found


def differences(phi: list[Fraction]) -> list[Fraction]:
    """F_t for each step, given Phi after each; the last step ends at 0, so the sum is exactly 0."""
    if not phi:
        return []
    path = [Fraction(0), *phi[:-1], Fraction(0)]
    return [after - before for before, after in zip(path, path[1:], strict=False)]


def _solved_share(probe: Probe, sets: NamedSets) -> Fraction:
    whole = sum((weight_of(sets, name) for name in sets.f2p), Fraction(0))
    if not whole:
        return Fraction(0)
    return sum((weight_of(sets, name) for name in sets.f2p if probe.tests.get(name) == "passed"), Fraction(0)) / whole


def _kept_share(probe: Probe, sets: NamedSets) -> Fraction:
    probed = [name for name in sets.p2p if name in probe.tests]
    return Fraction(sum(probe.tests[name] == "passed" for name in probed), len(probed)) if probed else Fraction(1)


def _brokenness(probe: Probe) -> Fraction:
    if probe.parse_errors:
        return Fraction(1)
    return _BROKEN.get(probe.failure_stage or "", Fraction(0))


def _progress(trajectory: Trajectory) -> Measurement:
    phi = potentials(trajectory)
    evidence, before = [], Fraction(0)
    for step, after in zip(trajectory.trajectory, phi, strict=True):
        if after != before:
            text = f"potential {float(before):+.3f} -> {float(after):+.3f}"
            evidence.append(Evidence(text=text, step=step.step))
        before = after
    if not evidence:
        evidence = [Evidence(text="no probe shows a change")]
    return Measurement(0, evidence, differences(phi))


PROGRESS = FunctionComponent(
    "progress",
    0.0,
    0.0,
    "potential",
    "Places credit at the steps that moved the code towards or away from passing tests; sums to exactly 0.",
    _progress,
)
