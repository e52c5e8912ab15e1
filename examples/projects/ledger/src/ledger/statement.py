"""Statements of an account as plain text."""

from ledger.amounts import format_amount


def wrap(text, width):
    """Lines of at most `width` characters, broken at spaces; longer words are cut."""
    if width < 1:
        raise ValueError("width must be at least 1")
    lines = []
    current = ""
    for word in text.split():
        while len(word) > width:
            if current:
                lines.append(current)
                current = ""
            lines.append(word[:width])
            word = word[width:]
        if not word:
            continue
        if not current:
            current = word
        elif len(current) + 1 + len(word) <= width:
            current += " " + word
        else:
            lines.append(current)
            current = word
    if current:
        lines.append(current)
    return lines


def table(rows, align_right=()):
    """Rows of texts as lines with columns of equal width, two spaces apart."""
    if not rows:
        return []
    widths = [0] * max(len(row) for row in rows)
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))
    lines = []
    for row in rows:
        cells = []
        for column, cell in enumerate(row):
            if column in align_right:
                cells.append(cell.rjust(widths[column]))
            else:
                cells.append(cell.ljust(widths[column]))
        lines.append("  ".join(cells).rstrip())
    return lines


def statement(account, first, last):
    """Opening balance, the entries of some days with the running balance, closing balance."""
    running = account.balance(first - 1)
    rows = [["", "opening", "", format_amount(running)]]
    for entry in account.between(first, last):
        running += entry.amount
        rows.append([str(entry.day), entry.text, format_amount(entry.amount), format_amount(running)])
    rows.append(["", "closing", "", format_amount(running)])
    return table(rows, align_right=(0, 2, 3))


def summary(accounts):
    """One line per account sorted by balance, largest first, and the total."""
    ordered = sorted(accounts, key=lambda account: (-account.balance(), account.name))
    rows = [[account.name, format_amount(account.balance())] for account in ordered]
    total = sum(account.balance() for account in accounts)
    rows.append(["total", format_amount(total)])
    return table(rows, align_right=(1,))
