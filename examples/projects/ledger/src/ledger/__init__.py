"""Amounts of money, accounts, and statements as text."""

from ledger.accounts import Account, Entry, transfer
from ledger.amounts import format_amount, parse_amount, split_evenly
from ledger.statement import statement, wrap

__all__ = ["Account", "Entry", "format_amount", "parse_amount", "split_evenly", "statement", "transfer", "wrap"]
