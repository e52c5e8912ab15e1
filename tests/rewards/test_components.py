"""Each component alone: what it counts, what it leaves alone, where it points."""

from __future__ import annotations

from fractions import Fraction

import pytest

from redtogreen.records import Grade, Metadata, Trajectory
from redtogreen.rewards import Measurement, find_component


def measure(name: str, row: Trajectory) -> Measurement:
    return find_component(name).measure(row)


def steps_of(measured: Measurement) -> list[int | None]:
    return [evidence.step for evidence in measured.evidence if evidence.step is not None]


def test_edits_that_were_not_applied_do_not_count(make) -> None:
    row = make.trajectory([make.edit(1), make.edit(2, applied=False), make.edit(3, applied=None)])
    assert measure("applied_edits", row).value == 1


def test_repeating_a_failing_run_counts_until_something_is_edited(make) -> None:
    run = make.tests_run
    row = make.trajectory(
        [
            run(1, 2, 1),
            run(2, 2, 1),
            make.edit(3),
            run(4, 2, 1),
            make.edit(5, applied=False),
            run(6, 2, 1),
            run(7, 3, 0),
        ]
    )
    measured = measure("failing_reruns", row)
    assert measured.value == 2 and steps_of(measured) == [2, 6]


def test_the_same_action_counts_only_while_nothing_changed(make) -> None:
    first, again, later = (make.tests_run(n, 1, 1) for n in (1, 2, 4))
    row = make.trajectory([first, again, make.edit(3), later])
    measured = measure("repeated_actions", row)
    assert measured.value == 1 and steps_of(measured) == [2]


def test_a_workspace_seen_before_means_an_edit_was_undone(make) -> None:
    trees = [f"sha256:{n}" for n in range(3)]
    steps = [make.edit(1, tree=trees[1]), make.edit(2, tree=trees[2]), make.edit(3, tree=trees[1])]
    steps += [make.tests_run(4, 1, 1), make.edit(5, tree=make.start)]
    steps[3].tree = trees[1]
    measured = measure("undone_edits", make.trajectory(steps))
    assert measured.value == 2 and steps_of(measured) == [3, 5]


@pytest.mark.parametrize("name", ["failing_reruns", "repeated_actions", "undone_edits", "applied_edits"])
def test_counting_nothing_still_has_evidence(make, name: str) -> None:
    measured = measure(name, make.trajectory([]))
    assert measured.value == 0 and measured.evidence


def graded(make, statuses: dict[str, str], **extra) -> Trajectory:
    grade = Grade(task_id="p/t/1", outcome="failed", tests=statuses)
    return make.trajectory([], outcome="failed", metadata=Metadata(grade=grade), extra=extra)


def test_pass_fraction_weighs_f2p_and_never_pays_for_p2p(make) -> None:
    """Summing both kinds would pay for doing nothing: P2P tests pass at the start."""
    sets = {"f2p": ["a", "b"], "p2p": ["c", "d"], "weights": {"a": 3.0}}
    tests = {"a": "passed", "b": "failed", "c": "passed", "d": "passed"}
    assert measure("pass_fraction", graded(make, tests, tests=sets)).value == Fraction(3, 4)
    nothing = {"a": "failed", "b": "failed", "c": "passed", "d": "passed"}
    assert measure("pass_fraction", graded(make, nothing, tests=sets)).value == 0
    broken = measure("pass_fraction", graded(make, tests | {"d": "failed"}, tests=sets))
    assert broken.value == 0 and broken.evidence[0].test == "d"


def test_every_test_that_is_not_f2p_counts_as_p2p_when_a_row_names_only_f2p(make) -> None:
    """Rows need not repeat a long suite: breaking any other graded test still costs the whole fraction."""
    assert measure("pass_fraction", graded(make, {"f": "passed", "p": "failed"}, tests={"f2p": ["f"]})).value == 0
    assert measure("pass_fraction", graded(make, {"f": "passed", "p": "passed"}, tests={"f2p": ["f"]})).value == 1


def test_pass_fraction_without_sets_is_the_pass_rate(make) -> None:
    assert measure("pass_fraction", graded(make, {"a": "passed", "b": "error", "c": "passed"})).value == Fraction(2, 3)
    row = make.trajectory([], outcome="failed", final_state=make.summary(1, 3))
    assert measure("pass_fraction", row).value == Fraction(1, 4)


@pytest.mark.parametrize(
    ("success", "passed", "failed", "value"), [(True, 3, 0, 1), (True, 3, 1, 0), (None, 3, 0, 1), (None, 0, 0, 0)]
)
def test_a_row_without_outcome_is_resolved_only_when_nothing_speaks_against_it(
    make, success: bool | None, passed: int, failed: int, value: int
) -> None:
    row = make.trajectory([], success=success, final_state=make.summary(passed, failed))
    assert measure("resolved", row).value == value


def test_an_unresolved_attempt_names_the_tests_that_fail(make) -> None:
    measured = measure("resolved", graded(make, {"a": "passed", "b": "failed"}))
    assert measured.value == 0 and [evidence.test for evidence in measured.evidence] == [None, "b"]
