"""Amounts are whole numbers of cents; texts look like 1,234.50 or (12.00) for negative ones."""

import re

_PATTERN = re.compile(r"^(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,2}))?$")


def parse_amount(text):
    """Cents of a text. Brackets or a leading minus make it negative."""
    body = text.strip()
    negative = False
    if body.startswith("(") and body.endswith(")"):
        negative = True
        body = body[1:-1].strip()
    elif body.startswith("-"):
        negative = True
        body = body[1:].strip()
    match = _PATTERN.match(body)
    if match is None:
        raise ValueError(f"not an amount: {text!r}")
    whole, fraction = match.groups()
    cents = int(whole.replace(",", "")) * 100
    if fraction:
        cents += int(fraction.ljust(2, "0"))
    return -cents if negative else cents


def format_amount(cents, brackets=False):
    """Text of some cents, with thousands separated."""
    whole, rest = divmod(abs(cents), 100)
    text = f"{whole:,}.{rest:02d}"
    if cents >= 0:
        return text
    if brackets:
        return f"({text})"
    return "-" + text


def split_evenly(cents, parts):
    """Shares that differ by at most one cent and add up to the whole; larger shares come first."""
    if parts < 1:
        raise ValueError("parts must be at least 1")
    share, left = divmod(cents, parts)
    shares = []
    for index in range(parts):
        extra = 1 if index < left else 0
        shares.append(share + extra)
    return shares


def percentage(cents, rate):
    """A rate in hundredths of a percent of an amount, rounded half away from zero."""
    product = cents * rate
    sign = -1 if product < 0 else 1
    quotient, rest = divmod(abs(product), 10_000)
    if rest * 2 >= 10_000:
        quotient += 1
    return sign * quotient
