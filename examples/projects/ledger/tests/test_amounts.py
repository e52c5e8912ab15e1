import pytest

from ledger.amounts import format_amount, parse_amount, percentage, split_evenly


@pytest.mark.parametrize(
    "text, cents",
    [("12", 1200), ("12.5", 1250), ("0.05", 5), ("1,234.50", 123450), (" 7.00 ", 700), ("1,000,000", 100000000)],
)
def test_parse(text, cents):
    assert parse_amount(text) == cents


def test_parse_negative():
    assert parse_amount("-3.10") == -310
    assert parse_amount("(12.00)") == -1200
    assert parse_amount("( 1 )") == -100


@pytest.mark.parametrize("text", ["", "1,23", "1.234", "abc", "--1", "(1", "1)"])
def test_parse_refuses(text):
    with pytest.raises(ValueError):
        parse_amount(text)


def test_format():
    assert format_amount(0) == "0.00"
    assert format_amount(5) == "0.05"
    assert format_amount(123450) == "1,234.50"
    assert format_amount(-310) == "-3.10"


def test_format_brackets_only_for_negative():
    assert format_amount(-1200, brackets=True) == "(12.00)"
    assert format_amount(1200, brackets=True) == "12.00"


def test_format_and_parse_agree():
    for cents in (0, 1, 99, 100, -5, 123456789):
        assert parse_amount(format_amount(cents)) == cents


def test_split_adds_up():
    assert split_evenly(100, 3) == [34, 33, 33]
    assert split_evenly(101, 3) == [34, 34, 33]
    assert split_evenly(6, 3) == [2, 2, 2]
    assert sum(split_evenly(12345, 7)) == 12345


def test_split_small_amounts():
    assert split_evenly(1, 3) == [1, 0, 0]
    assert split_evenly(5, 1) == [5]


def test_split_needs_parts():
    with pytest.raises(ValueError):
        split_evenly(10, 0)


def test_percentage_rounds_half_away_from_zero():
    assert percentage(1000, 1900) == 190
    assert percentage(50, 100) == 1
    assert percentage(49, 100) == 0
    assert percentage(-50, 100) == -1
    assert percentage(0, 1900) == 0
