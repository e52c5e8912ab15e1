"""`recipe check` finds recipes that pay unsolved attempts more than solved ones."""

from __future__ import annotations

from redtogreen.rewards import check_recipe, load_recipe


def test_classic_is_caught_paying_busy_work_more(make) -> None:
    """Six pointless edits on nearly solved code are paid more than a clean solution."""
    clean = make.trajectory([make.edit(1)], outcome="solved", final_state=make.summary(10, 0), attempt="clean")
    busy_steps = [make.edit(n) for n in range(1, 9)]
    busy = make.trajectory(busy_steps, outcome="failed", final_state=make.summary(9, 1), attempt="busy")
    other_task = make.trajectory(busy_steps, outcome="failed", task="p/t/2", final_state=make.summary(9, 1))
    lost = make.trajectory([], outcome="interrupted")
    found = check_recipe([busy, clean, other_task, lost], load_recipe("classic"))
    assert (found.trajectories, found.pairs, found.turned, found.tied, found.holds) == (3, 1, 1, 0, False)
    (pair,) = found.examples
    assert (pair.solved, pair.solved_reward, pair.unsolved, pair.unsolved_reward) == ("clean", 5.2, "busy", 6.1)


def test_the_default_recipe_never_turns_a_pair_and_says_who_ignores_the_placing(make) -> None:
    rows = [
        make.trajectory([make.edit(n) for n in range(1, 9)], outcome=end) for end in ("failed", "solved", "tampered")
    ]
    found = check_recipe(rows, load_recipe("default"))
    assert found.holds and found.pairs == 2 and "GRPO" in found.notes[0]
    assert "nothing could be compared" in check_recipe(rows[:1], load_recipe("outcome")).notes[0]
