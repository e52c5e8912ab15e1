"""Components that count what an attempt did: edits, empty test runs, and habits that lead nowhere.

Counts are farmable in principle; none of these is in the default recipe.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from redtogreen.records import Evidence, Step, Trajectory, views
from redtogreen.records.canonical import canonical_json
from redtogreen.rewards.measurement import FunctionComponent, Measurement

_COUNT = re.compile(r"\b(\d+) (passed|failed|errors?)\b")
_Found = list[tuple[int, str]]
"""(index of the step, why it counts)"""


def tests_passed(step: Step) -> int | None:
    """How many tests passed in a test run, read from the feedback, else the observation; None: it does not say."""
    if step.feedback.passed is not None:
        return step.feedback.passed
    said = step.observation.get("passed")
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    if step.feedback.failed is not None:
        return 0
    text = "\n".join(value for value in step.observation.values() if isinstance(value, str))
    if counts := _COUNT.findall(text):
        return sum(int(number) for number, word in counts if word == "passed")
    stopped = step.feedback.status in ("error", "timeout") or views.compile_error(step) is True
    return 0 if stopped or step.observation.get("exit_code") not in (None, 0) else None


def _counted(trajectory: Trajectory, found: _Found, most: int, nothing: str) -> Measurement:
    counted = found[:most]
    steps = trajectory.trajectory
    placed = [0] * len(steps)
    for index, _ in counted:
        placed[index] = 1
    evidence = [Evidence(text=why, step=steps[index].step) for index, why in counted] or [Evidence(text=nothing)]
    return Measurement(len(counted), evidence, placed)


def _applied_edits(trajectory: Trajectory) -> Measurement:
    steps = enumerate(trajectory.trajectory)
    found = [(index, f"{step.action} was applied") for index, step in steps if views.applied(step)]
    return _counted(trajectory, found, 10, "no edit was applied")


def _empty_test_runs(trajectory: Trajectory) -> Measurement:
    found = [
        (index, "no test passed in this run")
        for index, step in enumerate(trajectory.trajectory)
        if views.is_test_run(step) and tests_passed(step) == 0
    ]
    return _counted(trajectory, found, 20, "no test run without a passing test")


def _failing_reruns(trajectory: Trajectory) -> Measurement:
    found: _Found = []
    failed_at: int | None = None
    for index, step in enumerate(trajectory.trajectory):
        if views.applied(step) or step.diff:
            failed_at = None
        elif views.is_test_run(step):
            if _failed(step):
                if failed_at is not None:
                    found.append((index, f"failed again, and nothing was edited since step {failed_at}"))
                failed_at = step.step
            else:
                failed_at = None
    return _counted(trajectory, found, 20, "no failing run was repeated without an edit between")


def _failed(step: Step) -> bool:
    if step.feedback.failed is not None:
        return step.feedback.failed > 0
    return tests_passed(step) == 0 or step.observation.get("exit_code") not in (None, 0)


def _repeated_actions(trajectory: Trajectory) -> Measurement:
    found: _Found = []
    seen: dict[bytes, int] = {}
    for index, step in enumerate(trajectory.trajectory):
        if views.applied(step) or step.diff:
            seen.clear()
        key = canonical_json([step.action, step.params])
        if key in seen:
            found.append((index, f"the same {step.action} as step {seen[key]}, and nothing changed between"))
        seen.setdefault(key, step.step)
    return _counted(trajectory, found, 20, "no action was repeated while nothing changed")


def _undone_edits(trajectory: Trajectory) -> Measurement:
    found: _Found = []
    seen: dict[str, str] = {}
    current = trajectory.start_state.tree
    if current is not None:
        seen[current] = "the start"
    for index, step in enumerate(trajectory.trajectory):
        if step.tree is None or step.tree == current:
            continue
        if step.tree in seen:
            found.append((index, f"the workspace is back at the state of {seen[step.tree]}"))
        seen.setdefault(step.tree, f"step {step.step}")
        current = step.tree
    return _counted(trajectory, found, 20, "no edit led back to an earlier state")


def _component(name: str, most: int, unit: str, meaning: str, measure: Callable[[Trajectory], Measurement]):
    return FunctionComponent(name, 0.0, float(most), unit, meaning, measure)


PROCESS = (
    _component("applied_edits", 10, "edits", "Edits that changed a file, counted up to 10.", _applied_edits),
    _component("empty_test_runs", 20, "runs", "Test runs in which no test passed, counted up to 20.", _empty_test_runs),
    _component(
        "failing_reruns",
        20,
        "runs",
        "Failing test runs repeated although nothing was edited since the last failure, counted up to 20.",
        _failing_reruns,
    ),
    _component(
        "repeated_actions",
        20,
        "actions",
        "Actions repeated with the same parameters while nothing changed, counted up to 20.",
        _repeated_actions,
    ),
    _component(
        "undone_edits",
        20,
        "steps",
        "Steps that put the workspace back into a state it was in before, counted up to 20.",
        _undone_edits,
    ),
)
