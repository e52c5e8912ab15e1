"""Potential differences place credit and create none: for all trajectories, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redtogreen.errors import RecordError
from redtogreen.records import Feedback, FinalState, Probe, StartState, Step, Trajectory, decode, encode
from redtogreen.rewards import score
from redtogreen.rewards.shaping import GRID, differences, potentials

F2P, P2P = ["t::a", "t::b", "t::c"], ["t::d", "t::e"]
statuses = st.sampled_from(["passed", "failed", "error", "skipped", "absent"])
probes = st.builds(
    Probe,
    tests=st.fixed_dictionaries({name: statuses for name in F2P + P2P}),
    parse_errors=st.integers(0, 2),
    failure_stage=st.sampled_from([None, "syntax", "import", "collection", "assertion", "pass"]),
)
weights = st.fixed_dictionaries({name: st.sampled_from([0.1, 0.5, 1.0, 3.0]) for name in F2P})


def step(number: int, probe: Probe | None) -> Step:
    return Step(
        stage="coding",
        step=number,
        action="edit_file",
        params={},
        observation={},
        feedback=Feedback(applied=True),
        probe=probe,
    )


def attempt(states: list[Probe | None], solved: bool = False, **extra) -> Trajectory:
    return Trajectory(
        task_id="p/t/1",
        task_desc="",
        start_state=StartState(),
        trajectory=[step(number, probe) for number, probe in enumerate(states, 1)],
        final_state=FinalState(patch=""),
        outcome="solved" if solved else "failed",
        success=solved,
        extra={"tests": {"f2p": F2P, "p2p": P2P, **extra}},
    )


def passing(*names: str, **fields) -> Probe:
    return Probe(tests={name: "passed" if name in names else "failed" for name in F2P + P2P}, **fields)


attempts = st.builds(
    lambda states, solved, weighted: attempt(states, solved, weights=weighted),
    st.lists(st.none() | probes, max_size=12),
    st.booleans(),
    weights,
)


@given(attempts)
def test_the_steps_sum_to_the_reward_exactly(row: Trajectory) -> None:
    result = score(row, "default")
    assert result.reward == float(row.success or False)
    assert len(result.steps) == len(row.trajectory)
    if result.steps:
        assert sum(map(Fraction, result.steps)) == Fraction(result.reward)
        assert sum(result.steps) == sum(reversed(result.steps)) == result.reward


@given(attempts)
def test_placing_alone_sums_to_nothing(row: Trajectory) -> None:
    assert sum(differences(potentials(row))) == 0
    assert all(-1 <= phi <= 2 and phi.denominator <= GRID for phi in potentials(row))


@given(probes, probes, st.integers(1, 10))
def test_going_in_circles_pays_exactly_nothing(one: Probe, other: Probe, rounds: int) -> None:
    """Every way from a state back to itself pays 0, whatever lies between."""
    states = [one, *([other, one] * rounds), other]
    steps = score(attempt(states), "default").steps
    assert sum(map(Fraction, steps[1 : 1 + 2 * rounds])) == 0


def test_breaking_and_mending_in_a_loop_pays_nothing() -> None:
    """Paying improvements only would pay this loop 3 x 1/3."""
    good, bad = passing("t::a", *P2P), passing(*P2P)
    steps = score(attempt([good, bad, good, bad, good, bad]), "default").steps
    third = Fraction(round(GRID / 3), GRID)
    assert list(map(Fraction, steps)) == [third, -third, third, -third, third, -third]
    assert sum(steps) == 0.0


@settings(max_examples=200)
@given(attempts, attempts, st.integers(0, 12))
def test_shaping_never_turns_two_trajectories_round(one: Trajectory, other: Trajectory, shared: int) -> None:
    """From any common state on, what is still to come differs by the same amount with and without shaping."""
    prefix = one.trajectory[:shared]
    other.trajectory = [*prefix, *other.trajectory]
    other.extra = one.extra
    for number, taken in enumerate(other.trajectory, 1):
        taken.step = number
    first, second = (score(row, "default") for row in (one, other))
    plain = [score(row, "outcome").reward for row in (one, other)]
    assert [first.reward, second.reward] == plain
    at = len(prefix)
    if len(one.trajectory) > at and len(other.trajectory) > at:
        to_come = [sum(map(Fraction, result.steps[at:])) for result in (first, second)]
        assert to_come[0] - to_come[1] == Fraction(plain[0]) - Fraction(plain[1])


@given(attempts)
def test_scoring_again_from_stored_bytes_gives_the_same_to_the_last_digit(row: Trajectory) -> None:
    for recipe in ("default", "outcome", "classic"):
        assert encode(score(decode(encode(row), Trajectory), recipe)) == encode(score(row, recipe))


def test_tampering_keeps_the_placing_and_takes_the_payment() -> None:
    """Taking the placing from one side only would favour tampering at every state with a positive potential."""
    row = attempt([passing("t::a", "t::b", *P2P), passing(*F2P, *P2P)])
    honest, row.outcome = score(row, "default").steps, "tampered"
    assert score(row, "default").steps == honest


def test_a_step_without_a_probe_keeps_the_potential() -> None:
    row = attempt([passing("t::a", *P2P), None, None, passing(*F2P, *P2P)], solved=True)
    assert score(row, "default").steps[1:3] == [0.0, 0.0]


def test_broken_tests_and_broken_code_lower_the_potential() -> None:
    half_kept = passing(*F2P, "t::d")
    states = [passing(*F2P, *P2P), half_kept, passing(parse_errors=1), passing(failure_stage="import"), passing(*P2P)]
    assert [float(phi) for phi in potentials(attempt(states))] == pytest.approx([1, 0.5, -1, -2 / 3, 0], abs=1e-6)


def test_weights_keep_near_duplicates_from_dominating() -> None:
    row = attempt([passing("t::b", "t::c", *P2P)], weights={"t::b": 0.5, "t::c": 0.5})
    assert potentials(row) == [Fraction(1, 2)]


def test_a_measured_start_state_is_the_zero() -> None:
    """Tests that cannot even be imported at the start: getting them to run is progress."""
    row = attempt([passing(*P2P), passing(*F2P, *P2P)])
    row.extra["start_probe"] = {"tests": {}, "failure_stage": "import"}
    assert [float(phi) for phi in potentials(row)] == pytest.approx([2 / 3, 5 / 3], abs=1e-6)


def test_without_stated_sets_the_probe_of_the_start_tells_them_apart() -> None:
    row = attempt([passing("t::a", *P2P)])
    row.extra = {"start_probe": {"tests": {**dict.fromkeys(F2P, "failed"), **dict.fromkeys(P2P, "passed")}}}
    assert float(potentials(row)[0]) == pytest.approx(1 / 3, abs=1e-6)


def test_a_probe_before_the_first_change_tells_them_apart() -> None:
    """Otherwise a solution found at once would leave nothing that ever failed."""
    row = attempt([passing(*P2P), passing(*F2P, *P2P)])
    row.extra = {}
    row.trajectory[0].stage, row.trajectory[0].action = "plan", "open_file"
    assert [float(phi) for phi in potentials(row)] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"tests": {"f2p": "t::a"}}, "extra.tests"),
        ({"tests": {"f2p": ["t::a"], "weights": {"t::a": 0}}}, "extra.tests.weights"),
        ({"start_probe": {"test": {}}}, "extra.start_probe"),
    ],
)
def test_a_row_that_states_its_tests_wrongly_is_named(extra: dict, field: str) -> None:
    row = attempt([passing()])
    row.extra = extra
    with pytest.raises(RecordError, match=field):
        score(row, "default")
