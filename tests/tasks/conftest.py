"""A small project with good tests, written anew for each test; `extra` adds or replaces files."""

from __future__ import annotations

from pathlib import Path

import pytest

LEDGER = '''\
"""Money in, money out."""


class Ledger:
    def __init__(self, start=0):
        self.balance = start
        self.entries = []

    def add(self, amount, note=""):
        if amount == 0:
            raise ValueError("nothing to add")
        self.balance += amount
        self.entries.append((amount, note))
        return self.balance

    def largest(self):
        best = None
        for amount, note in self.entries:
            if best is None or amount > best:
                best = amount
        return best

    def spent(self):
        return -sum(amount for amount, _ in self.entries if amount < 0)


def merge(first, second):
    ledger = Ledger(first.balance + second.balance)
    ledger.entries = first.entries + second.entries
    return ledger
'''
TESTS = """\
import pytest

from ledger.core import Ledger, merge


@pytest.fixture
def ledger():
    ledger = Ledger(10)
    for amount in (5, -3, 8, -1):
        ledger.add(amount, "x")
    return ledger


def test_balance(ledger):
    assert ledger.balance == 19


def test_add_returns_the_balance():
    assert Ledger(1).add(2) == 3


def test_add_nothing():
    with pytest.raises(ValueError, match="nothing"):
        Ledger().add(0)


class TestLargest:
    def test_of_many(self, ledger):
        assert ledger.largest() == 8

    @pytest.mark.parametrize("amounts", [[1], [2, 1], [-5, -2]], ids=["one", "two | one", "below zero"])
    def test_of_some(self, amounts):
        ledger = Ledger()
        for amount in amounts:
            ledger.add(amount)
        assert ledger.largest() == max(amounts)

    def test_of_none(self):
        assert Ledger().largest() is None


def test_spent(ledger):
    assert ledger.spent() == 4


def test_spent_nothing():
    assert Ledger().spent() == 0


def test_merge(ledger):
    both = merge(ledger, Ledger(1))
    assert both.balance == 20 and len(both.entries) == 4


def test_merge_keeps_the_order(ledger):
    other = Ledger()
    other.add(100)
    assert merge(ledger, other).entries[-1] == (100, "")


def test_merge_largest(ledger):
    other = Ledger()
    other.add(100)
    assert merge(other, ledger).largest() == 100
"""
FILES = {
    "pyproject.toml": '[project]\nname = "ledger"\nversion = "2.0"\nlicense = "MIT"\n',
    "ledger/__init__.py": "",
    "ledger/core.py": LEDGER,
    "tests/test_core.py": TESTS,
}


@pytest.fixture(scope="session")
def write_ledger():
    """write_ledger(folder, {path: text or bytes or None}) -> folder; None leaves a file out."""

    def write(folder: Path, extra: dict | None = None) -> Path:
        for path, content in {**FILES, **(extra or {})}.items():
            if content is None:
                continue
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return write
