"""Another value than a given one, of the same type and of the same look."""

from __future__ import annotations


def other_literal(value: object) -> str | None:
    """Source of a literal that equals no value the given one equals; None: there is none for it."""
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int):
        return repr(value + 1)
    if isinstance(value, float):
        return repr(abs(value) * 1.5 + 1) if value == value and abs(value) < 1e300 else None
    if isinstance(value, complex):
        return repr(value + 1)
    if isinstance(value, str):
        return repr(_other_text(value))
    if isinstance(value, bytes):
        return repr(value[:-1] + bytes([value[-1] ^ 1]) if value else b"a")
    return None


def _other_text(text: str) -> str:
    """The last letter or digit becomes the next one; where there is none, one is added."""
    for at in range(len(text) - 1, -1, -1):
        if text[at].isascii() and text[at].isalnum():
            return text[:at] + ("a" if text[at] in "zZ9" else chr(ord(text[at]) + 1)) + text[at + 1 :]
    return text + "a"


OTHER_SOURCE = """
def {name}(value):
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float, complex):
        return kind(abs(value) * 2 + 1) if abs(value) < float("inf") else kind(0)
    if kind in (str, bytes, bytearray):
        return value + ("a" if kind is str else b"a")
    if kind in (list, tuple):
        return value + kind([0])
    if kind in (set, frozenset):
        return value | kind([object()])
    if kind is dict:
        return {{**value, object(): 0}}
    return object()
"""
"""Defines a function that gives a value another than its argument, of the same type where that is built in."""
