"""How often a recipe would turn two attempts at one task round, measured on recorded data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

import msgspec

from redtogreen.records import Trajectory
from redtogreen.rewards.components import find_component
from redtogreen.rewards.recipe import Recipe
from redtogreen.rewards.scoring import score

SHOWN = 10
"""Examples that are kept."""


class TurnedPair(msgspec.Struct, kw_only=True):
    """Two attempts at one task that the recipe ranks against their outcome."""

    task_id: str
    solved: str | None
    """Attempt that solved the task."""
    solved_reward: float
    unsolved: str | None
    unsolved_reward: float


class RecipeCheck(msgspec.Struct, kw_only=True):
    """What a recipe does to the order of recorded attempts."""

    recipe: str
    trajectories: int
    """With a reward."""
    pairs: int
    """Pairs of one task of which one is solved and the other is not."""
    turned: int
    """Pairs in which the unsolved attempt is paid more."""
    tied: int
    """Pairs in which both are paid the same."""
    examples: list[TurnedPair] = []
    notes: list[str] = []

    @property
    def holds(self) -> bool:
        """Whether no pair is turned round."""
        return self.turned == 0


def check_recipe(trajectories: Iterable[Trajectory], recipe: Recipe) -> RecipeCheck:
    """Compare the recipe's rewards with `resolved` for every pair of attempts at one task."""
    attempts: dict[str, list[tuple[str | None, bool, float]]] = defaultdict(list)
    places, resolved = False, find_component("resolved")
    for trajectory in trajectories:
        scored = score(trajectory, recipe)
        solved = resolved.measure(trajectory).value
        if scored.reward is None or solved is None:
            continue
        places |= bool(scored.steps)
        attempts[trajectory.task_id].append((trajectory.attempt, bool(solved), scored.reward))
    check = RecipeCheck(recipe=recipe.name, trajectories=sum(map(len, attempts.values())), pairs=0, turned=0, tied=0)
    for task, tried in sorted(attempts.items()):
        for pair in combinations(tried, 2):
            if pair[0][1] == pair[1][1]:
                continue
            check.pairs += 1
            good, bad = sorted(pair, key=lambda attempt: not attempt[1])
            check.tied += good[2] == bad[2]
            if good[2] < bad[2]:
                check.turned += 1
                if len(check.examples) < SHOWN:
                    check.examples.append(
                        TurnedPair(
                            task_id=task, solved=good[0], solved_reward=good[2], unsolved=bad[0], unsolved_reward=bad[2]
                        )
                    )
    if places:
        check.notes.append(
            "this recipe places credit at steps: trainers that sum a whole trajectory into one number, such as "
            "trajectory-level GRPO, do not see the placing"
        )
    if not check.pairs:
        check.notes.append("no task has both a solved and an unsolved attempt: nothing could be compared")
    return check
