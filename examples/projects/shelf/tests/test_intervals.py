import pytest

from shelf.intervals import Interval, busiest, covered, gaps, merge


def test_end_does_not_belong():
    interval = Interval(2, 5)
    assert 2 in interval
    assert 4 in interval
    assert 5 not in interval
    assert 1 not in interval


def test_end_before_start_is_refused():
    with pytest.raises(ValueError):
        Interval(3, 2)
    assert Interval(3, 3).length() == 0


def test_equality_and_hash():
    assert Interval(1, 2) == Interval(1, 2)
    assert Interval(1, 2) != Interval(1, 3)
    assert len({Interval(1, 2), Interval(1, 2)}) == 1
    assert Interval(1, 2) != (1, 2)


def test_touching_is_not_overlapping():
    assert Interval(0, 5).overlaps(Interval(4, 8))
    assert not Interval(0, 5).overlaps(Interval(5, 8))
    assert not Interval(5, 8).overlaps(Interval(0, 5))


def test_intersection():
    assert Interval(0, 5).intersection(Interval(3, 9)) == Interval(3, 5)
    assert Interval(3, 9).intersection(Interval(0, 5)) == Interval(3, 5)
    assert Interval(0, 3).intersection(Interval(3, 9)) is None


def test_subtract_from_the_middle():
    assert Interval(0, 10).subtract(Interval(3, 5)) == [Interval(0, 3), Interval(5, 10)]


def test_subtract_at_the_edges():
    assert Interval(0, 10).subtract(Interval(-5, 4)) == [Interval(4, 10)]
    assert Interval(0, 10).subtract(Interval(7, 12)) == [Interval(0, 7)]
    assert Interval(0, 10).subtract(Interval(0, 10)) == []
    assert Interval(0, 10).subtract(Interval(20, 30)) == [Interval(0, 10)]


def test_merge_joins_overlapping_and_touching():
    assert merge([Interval(5, 8), Interval(0, 3), Interval(2, 5)]) == [Interval(0, 8)]


def test_merge_keeps_separate_ones_sorted():
    assert merge([Interval(7, 9), Interval(0, 2)]) == [Interval(0, 2), Interval(7, 9)]


def test_merge_drops_empty_and_contained():
    assert merge([Interval(4, 4)]) == []
    assert merge([Interval(0, 10), Interval(2, 3)]) == [Interval(0, 10)]


def test_covered_counts_once():
    assert covered([Interval(0, 5), Interval(3, 8)]) == 8
    assert covered([]) == 0
    assert covered([Interval(0, 1), Interval(4, 6)]) == 3


def test_gaps_between():
    assert gaps([Interval(2, 4), Interval(6, 8)], Interval(0, 10)) == [
        Interval(0, 2),
        Interval(4, 6),
        Interval(8, 10),
    ]


def test_gaps_ignore_what_lies_outside():
    assert gaps([Interval(-5, -1), Interval(12, 15)], Interval(0, 10)) == [Interval(0, 10)]
    assert gaps([Interval(-5, 3)], Interval(0, 10)) == [Interval(3, 10)]
    assert gaps([Interval(0, 10)], Interval(0, 10)) == []


def test_busiest_counts_overlaps():
    assert busiest([Interval(0, 4), Interval(2, 6), Interval(3, 5)]) == (3, 3)
    assert busiest([Interval(0, 2), Interval(2, 4)]) == (0, 1)


def test_busiest_of_nothing():
    assert busiest([]) == (None, 0)
    assert busiest([Interval(1, 1)]) == (None, 0)
