"""Accounts with dated entries."""


class Entry:
    """One booking: a day number, an amount in cents and what it was for."""

    def __init__(self, day, amount, text, category="other"):
        self.day = day
        self.amount = amount
        self.text = text
        self.category = category


class InsufficientFunds(Exception):
    """An account may not go below its limit."""


class Account:
    """A named account that may go down to minus its overdraft."""

    def __init__(self, name, overdraft=0):
        self.name = name
        self.overdraft = overdraft
        self.entries = []

    def balance(self, day=None):
        """Sum of the entries, up to and with a day when one is given."""
        total = 0
        for entry in self.entries:
            if day is None or entry.day <= day:
                total += entry.amount
        return total

    def book(self, entry):
        """Add an entry. Raises InsufficientFunds when a withdrawal goes below the limit."""
        if entry.amount == 0:
            raise ValueError("an entry needs an amount")
        if entry.amount < 0 and self.balance() + entry.amount < -self.overdraft:
            raise InsufficientFunds(f"{self.name}: {entry.text}")
        self.entries.append(entry)
        self.entries.sort(key=lambda item: item.day)

    def between(self, first, last):
        """Entries from one day to another, both days included."""
        return [entry for entry in self.entries if first <= entry.day <= last]

    def by_category(self, spending_only=False):
        """Sum per category; with spending_only, of negative entries alone and as positive numbers."""
        sums = {}
        for entry in self.entries:
            amount = entry.amount
            if spending_only:
                if amount >= 0:
                    continue
                amount = -amount
            sums[entry.category] = sums.get(entry.category, 0) + amount
        return sums

    def lowest(self):
        """The day on which the balance was lowest and that balance; (None, 0) for an empty account."""
        best_day, best = None, 0
        running = 0
        for position, entry in enumerate(self.entries):
            running += entry.amount
            following = self.entries[position + 1 :]
            if following and following[0].day == entry.day:
                continue
            if best_day is None or running < best:
                best_day, best = entry.day, running
        return best_day, best


def transfer(source, target, amount, day, text="transfer"):
    """Move a positive amount; neither account changes when the source cannot pay."""
    if amount <= 0:
        raise ValueError("amount must be positive")
    if source is target:
        raise ValueError("source and target are the same account")
    source.book(Entry(day, -amount, text, "transfer"))
    target.book(Entry(day, amount, text, "transfer"))
