"""The split: by project, drawn from the seed, train never empty, eval tasks never in train."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.data.datasets.splits import marked_eval, split_projects
from redtogreen.errors import RecordError, UsageError

counts = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(1, 50), min_size=1, max_size=12)


@given(counts, st.floats(0, 0.99), st.integers(0, 5), st.sets(st.integers(0, 11)))
def test_train_is_never_empty_and_marked_projects_are_never_in_it(
    rows: dict[str, int], share: float, seed: int, marks: set[int]
) -> None:
    marked = {name for index, name in enumerate(sorted(rows)) if index in marks}
    if marked == set(rows):
        with pytest.raises(UsageError, match="nothing may be trained on"):
            split_projects(rows, marked, share, seed)
        return
    chosen, _ = split_projects(rows, marked, share, seed)
    assert set(chosen) == set(rows) and set(chosen.values()) <= {"train", "eval"}
    assert "train" in chosen.values()
    assert all(chosen[name] == "eval" for name in marked)
    assert split_projects(dict(reversed(rows.items())), marked, share, seed)[0] == chosen
    held_out = sum(rows[name] for name, split in chosen.items() if split == "eval" and name not in marked)
    if share == 0:
        assert held_out == 0
    elif len(rows) > 1 and not marked:
        assert held_out > 0


def test_two_projects_give_the_smaller_one_to_eval_and_say_so() -> None:
    chosen, notes = split_projects({"big": 20, "small": 15}, set(), 0.2, 0)
    assert chosen == {"big": "train", "small": "eval"} and "small" in notes[0]


def test_one_project_is_all_train_and_says_so() -> None:
    chosen, notes = split_projects({"only": 20}, set(), 0.2, 0)
    assert chosen == {"only": "train"} and "only one project" in notes[0]


def test_another_seed_draws_another_split() -> None:
    rows = {f"p{n}": 10 for n in range(10)}
    drawn = {tuple(sorted(split_projects(rows, set(), 0.2, seed)[0].items())) for seed in range(6)}
    assert len(drawn) > 1
    for split in drawn:
        assert sum(side == "eval" for _, side in split) == 2


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="eval share"):
        split_projects({"a": 1, "b": 1}, set(), share, 0)


def test_the_mark_of_a_row_is_read_from_extra(make) -> None:
    assert marked_eval(make.row("p/a", 0, extra={"use": "eval"}))
    assert not marked_eval(make.row("p/a", 0, extra={"use": "train"})) and not marked_eval(make.row("p/a", 0))
    with pytest.raises(RecordError, match="extra.use"):
        marked_eval(make.row("p/a", 0, extra={"use": "evaluation"}))
