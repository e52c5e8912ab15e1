"""Components that read how an attempt ended: did it solve the task, how many reward tests pass, does it compile."""

from __future__ import annotations

from fractions import Fraction

from redtogreen.records import Evidence, Outcome, Trajectory, views
from redtogreen.rewards.measurement import FunctionComponent, Measurement
from redtogreen.rewards.testsets import named_sets, weight_of


def outcome_of(trajectory: Trajectory) -> Outcome | None:
    """The outcome a row states, or else the one its stored grade states."""
    grade = trajectory.metadata.grade
    return trajectory.outcome or (grade.outcome if grade else None)


def is_judged(trajectory: Trajectory) -> bool:
    """Whether anything in the row says how the attempt ended."""
    return (
        outcome_of(trajectory) is not None
        or trajectory.success is not None
        or trajectory.final_state.test_summary is not None
    )


def _resolved(trajectory: Trajectory) -> Measurement:
    outcome = outcome_of(trajectory)
    if outcome is not None:
        failing = [name for name, status in _graded_tests(trajectory).items() if status != "passed"]
        evidence = [Evidence(text=f"the grader's outcome is {outcome}")]
        if outcome != "solved":
            evidence += [Evidence(text="reward test does not pass", test=name) for name in failing[:5]]
        return Measurement(int(outcome == "solved"), evidence)
    summary = trajectory.final_state.test_summary
    if summary is not None and (summary.failed or trajectory.success is None):
        solved = summary.passed > 0 and not summary.failed and trajectory.success is not False
        return Measurement(
            int(solved), [Evidence(text=f"reward tests: {summary.passed} passed, {summary.failed} failed")]
        )
    if trajectory.success is None:
        return Measurement(None, [Evidence(text="no outcome, no success, no test summary")])
    return Measurement(int(trajectory.success), [Evidence(text=f"success is {str(trajectory.success).lower()}")])


def pass_rate(trajectory: Trajectory) -> tuple[Fraction | None, Evidence]:
    """Share of all reward tests that pass, in [0, 1], with where it was read; None: nothing says."""
    summary = trajectory.final_state.test_summary
    if summary is not None and summary.passed + summary.failed > 0:
        share = Fraction(summary.passed, summary.passed + summary.failed)
        return share, Evidence(text=f"reward tests: {summary.passed} passed, {summary.failed} failed")
    if tests := _graded_tests(trajectory):
        passed = sum(status == "passed" for status in tests.values())
        return Fraction(passed, len(tests)), Evidence(text=f"graded tests: {passed} of {len(tests)} passed")
    if trajectory.success is not None:
        return Fraction(int(trajectory.success)), Evidence(text=f"success is {str(trajectory.success).lower()}")
    if (outcome := outcome_of(trajectory)) is not None:
        return Fraction(int(outcome == "solved")), Evidence(text=f"no test counts; the grader's outcome is {outcome}")
    return None, Evidence(text="no test counts")


def pass_fraction(trajectory: Trajectory) -> tuple[Fraction | None, Evidence]:
    """Weighted share of the fail-to-pass tests that pass, 0 when a test that passed before is broken; in [0, 1].

    A row that does not tell the two kinds of tests apart, or holds no status per test, gives its pass rate.
    """
    tests, sets = _graded_tests(trajectory), named_sets(trajectory)
    if not tests or sets is None or not sets.f2p:
        return pass_rate(trajectory)
    if broken := [name for name in sets.p2p if tests.get(name) != "passed"]:
        return Fraction(0), Evidence(text=f"{len(broken)} test(s) that passed before are broken", test=broken[0])
    whole = sum((weight_of(sets, name) for name in sets.f2p), Fraction(0))
    passing = sum((weight_of(sets, name) for name in sets.f2p if tests.get(name) == "passed"), Fraction(0))
    return passing / whole, Evidence(text=f"weight {passing} of {whole} of the fail-to-pass tests passes")


def _pass_fraction(trajectory: Trajectory) -> Measurement:
    share, evidence = pass_fraction(trajectory)
    return Measurement(share, [evidence])


def compiles(trajectory: Trajectory) -> tuple[bool, Evidence]:
    """Whether the final code compiles: the last step that says anything decides; nothing said means it does."""
    for step in reversed(trajectory.trajectory):
        broken = views.compile_error(step)
        if broken is None and step.probe is not None:
            broken = step.probe.parse_errors > 0
        if broken is not None:
            text = "the code does not compile after this step" if broken else "the code compiles after this step"
            return not broken, Evidence(text=text, step=step.step)
    return True, Evidence(text="no step reports a compile error")


def _classic_base(trajectory: Trajectory) -> Measurement:
    compiling, why = compiles(trajectory)
    if not compiling:
        return Measurement(-2, [why])
    share, evidence = pass_rate(trajectory)
    return Measurement(None if share is None else 5 * share, [why, evidence])


def _graded_tests(trajectory: Trajectory) -> dict[str, str]:
    grade = trajectory.metadata.grade
    return dict(grade.tests) if grade else {}


RESOLVED = FunctionComponent(
    "resolved",
    0.0,
    1.0,
    "attempts",
    "The task is solved: every reward test passes, nothing that worked is broken, nothing was tampered with.",
    _resolved,
)
PASS_FRACTION = FunctionComponent(
    "pass_fraction",
    0.0,
    1.0,
    "share of tests",
    "Weighted share of the fail-to-pass tests that pass at the end, 0 when a test that passed before is broken; "
    "of all reward tests where a row does not tell the two apart.",
    _pass_fraction,
)
CLASSIC_BASE = FunctionComponent(
    "classic_base",
    -2.0,
    5.0,
    "points",
    "-2 when the final code does not compile, else 5 times the share of reward tests that pass.",
    _classic_base,
)
