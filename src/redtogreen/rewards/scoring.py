"""One trajectory and one recipe -> a reward with its explanation, from stored data alone.

All sums are rational; a float is made once, at the end. The same row gives the same number to the last digit.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from redtogreen.errors import UsageError, nearest
from redtogreen.records import ComponentScore, Score, Trajectory
from redtogreen.records.grade import REWARDED
from redtogreen.rewards.components import find_component
from redtogreen.rewards.measurement import Component, Measurement, exact
from redtogreen.rewards.outcome import is_judged, outcome_of
from redtogreen.rewards.recipe import Recipe, load_recipe


def score(trajectory: Trajectory, recipe: Recipe | str, *, without: Collection[str] = ()) -> Score:
    """The reward of one trajectory under a recipe (or the name or path of one), without running anything.

    `without` leaves components of the recipe out, and the score's `recipe` says so. The reward is None, with the
    reason, when the outcome is a failure of the machine or when nothing says how the attempt ended.
    Raises UsageError for an unknown recipe or component, and for a plugin that breaks what it states of itself.
    """
    if isinstance(recipe, str):
        recipe = load_recipe(recipe)
    left_out = _checked(recipe, [without] if isinstance(without, str) else without)
    result = Score(
        recipe=recipe.name + (f" without {', '.join(left_out)}" if left_out else ""),
        version=recipe.version,
        task_id=trajectory.task_id,
        attempt=trajectory.attempt,
    )
    if (reason := _no_reward(trajectory)) is not None:
        result.reason = reason
        return result
    gated = outcome_of(trajectory) == "tampered"
    total, placed, places = Fraction(0), [Fraction(0)] * len(trajectory.trajectory), False
    for part in recipe.components:
        if part.name in left_out:
            continue
        component, weight = find_component(part.name), exact(part.weight)
        measured = _measured(component, trajectory)
        if measured.value is None:
            why = measured.evidence[0].text if measured.evidence else "it found nothing to measure"
            return Score(
                recipe=result.recipe,
                version=recipe.version,
                task_id=trajectory.task_id,
                attempt=trajectory.attempt,
                reason=f"component {component.name}: {why}",
            )
        value = exact(measured.value)
        result.components.append(_explained(component, part.weight, value, measured))
        total += weight * value
        # A gate takes the payments back, not the placing: under a shared potential both sides must keep theirs.
        if measured.placed is not None and not (gated and _pays(component)):
            places = True
            placed = [sum_ + weight * exact(share) for sum_, share in zip(placed, measured.placed, strict=True)]
    if gated:
        total = exact(recipe.tampered)
        result.gate = "tampered"
    result.reward = float(total)
    if places and placed:
        placed[-1] += total - sum(placed, Fraction(0))
        result.steps = [float(share) for share in placed]
    return result


def _checked(recipe: Recipe, without: Collection[str]) -> list[str]:
    known = [part.name for part in recipe.components]
    for name in without:
        if name not in known:
            close = nearest(name, known)
            raise UsageError(
                f"recipe {recipe.name!r} has no component {name!r}",
                (f"did you mean {close!r}? " if close else "") + f"It has: {', '.join(known)}",
            )
    return [name for name in known if name in without]


def _no_reward(trajectory: Trajectory) -> str | None:
    grade = trajectory.metadata.grade
    if grade is not None and trajectory.outcome is not None and grade.outcome != trajectory.outcome:
        return f"the row contradicts itself: outcome {trajectory.outcome}, but its grade says {grade.outcome}"
    outcome = outcome_of(trajectory)
    if outcome is not None and outcome not in REWARDED:
        error = trajectory.metadata.error or (grade.error if grade else None)
        return f"outcome {outcome} carries no reward" + (f": {error}" if error else "")
    if not is_judged(trajectory):
        return "nothing says how the attempt ended: no outcome, no success, no test summary"
    return None


def _measured(component: Component, trajectory: Trajectory) -> Measurement:
    given = component.measure(trajectory)
    measured = Measurement(given.value, list(given.evidence), getattr(given, "placed", None))
    if measured.value is None:
        return measured
    blame = f"reward component {component.name!r} on task {trajectory.task_id}, attempt {trajectory.attempt}"
    hint = "the fault lies in that component, not in the trajectory"
    try:
        value = exact(measured.value)
        shares = None if measured.placed is None else [exact(share) for share in measured.placed]
    except (ValueError, OverflowError):
        raise UsageError(f"{blame}: a number is not finite", hint) from None
    if not exact(component.low) <= value <= exact(component.high):
        raise UsageError(f"{blame}: {float(value)} is outside [{component.low}, {component.high}]", hint)
    if shares is not None:
        if len(shares) != len(trajectory.trajectory):
            raise UsageError(f"{blame}: {len(shares)} numbers for {len(trajectory.trajectory)} steps", hint)
        if not _pays(component) and sum(shares) != 0:
            raise UsageError(f"{blame}: it may only place credit, but its steps sum to {float(sum(shares))}", hint)
    return measured


def _pays(component: Component) -> bool:
    return not (component.low == component.high == 0)


def _explained(component: Component, weight: float, value: Fraction, measured: Measurement) -> ComponentScore:
    return ComponentScore(
        name=component.name,
        value=float(value),
        weight=weight,
        low=component.low,
        high=component.high,
        meaning=component.meaning,
        evidence=measured.evidence,
    )
