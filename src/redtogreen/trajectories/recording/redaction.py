"""Replaces secrets by stable placeholders before anything is written.

Within one attempt the same secret always becomes the same placeholder, `<SECRET:kind:number>`, numbered per kind in
the order of first appearance; so equal attempts give equal records. An e-mail address is personal, not secret: it
becomes `person-<number>@redacted.invalid`, an address still, so that code that holds one goes on working.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from redtogreen.scanning.secrets import find_secrets

_SECRET_NAME = re.compile(r"(?:^|_)(?:\w*KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)S?(?:_|$)")
_PERSONAL = "email"
_REMEMBERED = 8
"""Values at least this long are replaced wherever they show up again, whatever stands around them."""


class Redactor:
    """Placeholders of one attempt. `environment`: variables of the host whose secret-looking values are hidden too."""

    def __init__(self, environment: Mapping[str, str] | None = None):
        self.count = 0
        """Places where a secret was replaced so far."""
        self.personal = 0
        """Places where an e-mail address was replaced so far."""
        self._placeholders: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._known: dict[str, str] = {}
        for name, value in sorted((os.environ if environment is None else environment).items()):
            if _SECRET_NAME.search(name.upper()) and len(value) >= _REMEMBERED:
                self._known[value] = "environment"

    def text(self, text: str) -> str:
        """One text without its secrets."""
        return self.texts([text])[0]

    def value(self, value: Any) -> Any:
        """A JSON value (nested lists, dicts, strings) without its secrets; the same object when it holds none."""
        parts: list[str] = []
        for name, secret in _named(value):
            # The name says what it is, and stands apart from it here.
            for one in find_secrets(f'{name}="{secret}"'):
                if one.end - one.start == len(secret):
                    self._known.setdefault(secret, one.kind)
        _strings(value, parts)
        cleaned = self.texts(parts)
        return value if cleaned == parts else _rebuild(value, iter(cleaned))

    def texts(self, parts: list[str]) -> list[str]:
        """Several texts, scanned in one go; what spans two of them is replaced in both."""
        whole = "\n".join(parts)
        spans = [(one.start, one.end, one.kind) for one in find_secrets(whole)]
        for start, end, kind in spans:
            self._remember(whole[start:end], kind)
        spans.extend(self._recurring(whole))
        if not spans:
            return parts
        cleaned, offset = [], 0
        spans.sort()
        for part in parts:
            inside = [
                (max(start - offset, 0), min(end - offset, len(part)), kind)
                for start, end, kind in spans
                if start < offset + len(part) and end > offset
            ]
            cleaned.append(self._replace(part, inside))
            offset += len(part) + 1
        return cleaned

    def _remember(self, secret: str, kind: str) -> None:
        for line in secret.splitlines():
            if len(line.strip()) >= _REMEMBERED and not line.startswith("-----"):
                self._known.setdefault(line.strip(), kind)

    def _recurring(self, whole: str) -> list[tuple[int, int, str]]:
        found = []
        for known, kind in self._known.items():
            place = whole.find(known)
            while place >= 0:
                found.append((place, place + len(known), kind))
                place = whole.find(known, place + len(known))
        return found

    def _replace(self, text: str, spans: list[tuple[int, int, str]]) -> str:
        pieces, done = [], 0
        for start, end, kind in _merged(spans):
            pieces += [text[done:start], self._placeholder(text[start:end], kind)]
            done = end
            if kind == _PERSONAL:
                self.personal += 1
            else:
                self.count += 1
        return "".join([*pieces, text[done:]])

    def _placeholder(self, secret: str, kind: str) -> str:
        if secret not in self._placeholders:
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            self._placeholders[secret] = (
                f"person-{number}@redacted.invalid" if kind == _PERSONAL else f"<SECRET:{kind}:{number}>"
            )
        return self._placeholders[secret]


def _merged(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans):
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, kind))
    return merged


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """Short texts that stand under a key."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and _REMEMBERED <= len(item) <= 300 and item.isprintable():
                yield key, item
            else:
                yield from _named(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _named(item)


def _strings(value: Any, parts: list[str]) -> None:
    """All strings, keys included, in the order `_rebuild` takes them."""
    if isinstance(value, str):
        parts.append(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            parts.append(key)
            _strings(item, parts)
    elif isinstance(value, list | tuple):
        for item in value:
            _strings(item, parts)


def _rebuild(value: Any, cleaned: Any) -> Any:
    if isinstance(value, str):
        return next(cleaned)
    if isinstance(value, dict):
        return {next(cleaned): _rebuild(item, cleaned) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rebuild(item, cleaned) for item in value]
    return value
