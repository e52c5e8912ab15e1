import pytest

from ledger.accounts import Account, Entry, InsufficientFunds, transfer


@pytest.fixture
def account():
    account = Account("main", overdraft=500)
    account.book(Entry(1, 1000, "salary", "income"))
    account.book(Entry(5, -300, "food", "food"))
    account.book(Entry(3, -200, "bus", "travel"))
    return account


def test_balance(account):
    assert account.balance() == 500
    assert account.balance(day=3) == 800
    assert account.balance(day=0) == 0


def test_entries_are_kept_by_day(account):
    assert [entry.day for entry in account.entries] == [1, 3, 5]


def test_overdraft_is_a_limit(account):
    account.book(Entry(6, -1000, "rent"))
    assert account.balance() == -500
    with pytest.raises(InsufficientFunds):
        account.book(Entry(7, -1, "gum"))
    assert account.balance() == -500


def test_deposits_are_always_taken():
    account = Account("new")
    account.book(Entry(1, 5, "coin"))
    assert account.balance() == 5


def test_empty_entries_are_refused(account):
    with pytest.raises(ValueError):
        account.book(Entry(1, 0, "nothing"))


def test_between_includes_both_days(account):
    assert [entry.text for entry in account.between(1, 3)] == ["salary", "bus"]
    assert account.between(6, 9) == []


def test_sums_by_category(account):
    account.book(Entry(6, -50, "more food", "food"))
    assert account.by_category() == {"income": 1000, "travel": -200, "food": -350}


def test_spending_by_category(account):
    assert account.by_category(spending_only=True) == {"travel": 200, "food": 300}


def test_default_category():
    assert Entry(1, 2, "x").category == "other"


def test_lowest_balance(account):
    account.book(Entry(9, 100, "gift"))
    assert account.lowest() == (5, 500)
    assert Account("empty").lowest() == (None, 0)


def test_lowest_looks_at_whole_days():
    account = Account("day", overdraft=1000)
    account.book(Entry(1, 100, "in"))
    account.book(Entry(2, -300, "out"))
    account.book(Entry(2, 300, "back"))
    assert account.lowest() == (1, 100)


def test_transfer_moves_money(account):
    savings = Account("savings")
    transfer(account, savings, 200, day=6)
    assert account.balance() == 300
    assert savings.balance() == 200
    assert savings.entries[0].category == "transfer"


def test_transfer_changes_nothing_when_it_fails(account):
    savings = Account("savings")
    with pytest.raises(InsufficientFunds):
        transfer(account, savings, 5000, day=6)
    assert account.balance() == 500
    assert savings.balance() == 0


def test_transfer_refuses_nonsense(account):
    with pytest.raises(ValueError):
        transfer(account, Account("other"), 0, day=1)
    with pytest.raises(ValueError):
        transfer(account, account, 10, day=1)
