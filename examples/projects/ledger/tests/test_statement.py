import pytest

from ledger.accounts import Account, Entry
from ledger.statement import statement, summary, table, wrap


def test_wrap_breaks_at_spaces():
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrap("a b c", 3) == ["a b", "c"]


def test_wrap_exact_width():
    assert wrap("abc def", 7) == ["abc def"]
    assert wrap("abc def", 6) == ["abc", "def"]


def test_wrap_cuts_long_words():
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("x abcdef y", 3) == ["x", "abc", "def", "y"]


def test_wrap_of_nothing():
    assert wrap("", 5) == []
    assert wrap("   ", 5) == []


def test_wrap_needs_width():
    with pytest.raises(ValueError):
        wrap("a", 0)


def test_table_aligns():
    rows = [["a", "1"], ["bbb", "22"]]
    assert table(rows) == ["a    1", "bbb  22"]
    assert table(rows, align_right=(1,)) == ["a     1", "bbb  22"]


def test_table_rows_of_different_length():
    assert table([["a"], ["b", "c"]]) == ["a", "b  c"]
    assert table([]) == []


def test_statement_runs_a_balance():
    account = Account("main")
    account.book(Entry(1, 1000, "salary"))
    account.book(Entry(3, -250, "bus"))
    account.book(Entry(4, -50, "gum"))
    assert statement(account, 2, 3) == [
        "   opening         10.00",
        "3  bus      -2.50   7.50",
        "   closing          7.50",
    ]


def test_statement_without_entries():
    lines = statement(Account("empty"), 1, 9)
    assert lines == ["  opening    0.00", "  closing    0.00"]


def test_summary_sorts_by_balance():
    first, second = Account("b"), Account("a")
    first.book(Entry(1, 500, "x"))
    second.book(Entry(1, 500, "x"))
    third = Account("c")
    third.book(Entry(1, 900, "x"))
    assert summary([first, second, third]) == [
        "c       9.00",
        "a       5.00",
        "b       5.00",
        "total  19.00",
    ]
