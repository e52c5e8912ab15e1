"""Secrets and personal data in a text, with their place.

The rules are Kingfisher's, run in-process and compiled once per process, plus a few of our own for what they leave
out: lone AWS key ids, `password = "..."` assignments, bearer headers, passwords in URLs, cut-off private keys, and
e-mail addresses. Hashes, git ids, UUIDs and test ids are not secrets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True, order=True)
class Secret:
    """One finding. Offsets count characters of a str, bytes of a bytes."""

    start: int
    end: int
    kind: str
    """For example `aws-access-key`, `password`, `private-key`, `email`."""


def find_secrets(text: str | bytes) -> list[Secret]:
    """Every secret in a text, in order, without overlaps: where two rules meet, their union under the first's kind."""
    if isinstance(text, bytes):
        # One character per byte, so that offsets stay what they are; foreign bytes are no letters.
        return _merge([*_engine(text), *_own(text.decode("ascii", "surrogateescape"))])
    raw = text.encode("utf-8", "replace")
    found = _engine(raw)
    if found and len(raw) != len(text):
        found = [Secret(_characters(raw, one.start), _characters(raw, one.end), one.kind) for one in found]
    return _merge([*found, *_own(text)])


def _characters(raw: bytes, offset: int) -> int:
    return len(raw[:offset].decode("utf-8", "ignore"))


def _merge(found: list[Secret]) -> list[Secret]:
    merged: list[Secret] = []
    for one in sorted(found):
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, one.end), last.kind)
        else:
            merged.append(one)
    return merged


# --- Kingfisher ---------------------------------------------------------------------------------------------------

_KINDS = {
    "aws-access-token": "aws-access-key",
    "aws-secret-access-key": "aws-secret-key",
}
_REPLACED = frozenset({"generic-credential-uri"})
"""Rules for which ours are used instead: they take example passwords of URL libraries for real ones."""


@cache
def _scanner() -> Any:
    import kingfisher_sdk

    # What the scanned text says about itself ("ignore this line") is not believed.
    policy = kingfisher_sdk.DetectionPolicy(inline_ignores=False, markup_context=False)
    return kingfisher_sdk.Scanner(policy=policy)


def _engine(raw: bytes) -> list[Secret]:
    if len(raw) < 12:
        return []
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):  # would be taken for UTF-16 and scanned as something else
        return [Secret(one.start + 2, one.end + 2, one.kind) for one in _engine(raw[2:])]
    found = []
    for finding in _scanner().scan(raw):
        rule = finding.rule_id.rpartition(".")[2]
        if rule in _REPLACED:
            continue
        kind = _KINDS.get(rule, rule)
        start, end = finding.location["start_offset"], finding.location["end_offset"]
        secret = finding.secret.encode()
        if finding.is_base64_encoded or raw[start:end] == secret:
            found.append(Secret(start, end, kind))
            continue
        # Offsets of re-encoded input (UTF-16) do not fit ours: look for the value itself.
        for place in re.finditer(re.escape(secret), raw):
            found.append(Secret(place.start(), place.end(), kind))
    return found


# --- our own ------------------------------------------------------------------------------------------------------
# Each rule starts from literal words found by str.find, which is what keeps clean texts cheap.

_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\$[{(]|\$[A-Z_]{3}|\{[^{}]*\}|%[(s]|\w\(|\*{3}|\.\.\.|x{4}|example|change_?me|placeholder|your[_-]|dummy"
    r"|redacted|not[_-]?a[_-]?real",
    re.I,
)
_NOT_SECRET_NAME = re.compile(
    r"(?:hash|digest|sha\d*|checksum|id|type|name|regex|pattern|len|length|count|index)$", re.I
)


def entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0


def _looks_secret(value: str) -> bool:
    """Whether a value given to a secret's name is one: not a word, an identifier, a placeholder or a template."""
    if len(value) < 8 or _PLACEHOLDER.search(value) or value.startswith("sha256:"):
        return False
    digit = any(char.isdigit() for char in value)
    lower, upper = any(char.islower() for char in value), any(char.isupper() for char in value)
    special = any(not char.isalnum() and char not in "_-./:" for char in value)
    if not (digit and (lower or upper)) and digit + lower + upper + special < 3:
        return False
    return entropy(value) >= 2.75


def _places(text: str, *words: str) -> Iterator[int]:
    for word in words:
        place = text.find(word)
        while place >= 0:
            yield place
            place = text.find(word, place + len(word))


_AWS = re.compile(r"[A-Z0-9]{20}(?![A-Za-z0-9])")


def _aws(text: str, lowered: str) -> Iterator[Secret]:
    for place in _places(text, "AKIA", "ASIA", "ABIA", "ACCA"):
        if _AWS.match(text, place) and not text[place - 1 : place].isalnum():
            yield Secret(place, place + 20, "aws-access-key")


_NAMES = ("passw", "pwd", "passphrase", "secret", "token", "credential", "key")
_KEY_OF = re.compile(r"(?:api|access|auth|private|encryption|signing|account|master)[_-]?$")
_QUOTED = re.compile(
    r"([A-Za-z][\w.-]{2,60})\\?[\"']?\]?\s{0,8}(?:=>|:=|==?|:)\s{0,8}[bruBRU]{0,2}"
    r"\\?([\"'])([^\"'\s\\]{8,300})\\?\2"
)
_BARE = re.compile(r"([\w-]{3,60})[= ]([^\s\"'`]{8,300})(?=[ \t]*(?:$|[\r\n])|\\n)")
_SHELL_NAME = re.compile(r"(?:^|[\n+]|\\n)[ \t]*(?:export[ \t]+)?[A-Z][A-Z0-9_]*$")


def _assignments(text: str, lowered: str) -> Iterator[Secret]:
    for place in _places(lowered, *_NAMES):
        if lowered.startswith("key", place) and not _KEY_OF.search(lowered, max(0, place - 12), place):
            continue
        if (match := _QUOTED.match(text, place)) and not _NOT_SECRET_NAME.search(match[1]):
            if _looks_secret(match[3]):
                yield Secret(match.start(3), match.end(3), _kind_of(lowered, place))
        elif (match := _BARE.match(text, place)) and not _NOT_SECRET_NAME.search(match[1]):
            before = text[max(0, place - 60) : place]
            option = re.search(r"(?:^|\s)--?[\w-]*$", before)
            shell = match[0][len(match[1])] == "=" and match[1].isupper() and _SHELL_NAME.search(before + match[1])
            if (option or shell) and _looks_secret(match[2]):
                yield Secret(match.start(2), match.end(2), _kind_of(lowered, place))


def _kind_of(lowered: str, place: int) -> str:
    found = next(name for name in _NAMES if lowered.startswith(name, place))
    return {"passw": "password", "pwd": "password", "passphrase": "password"}.get(found, found)


_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\S]{32,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]{32,})"
)


def _key_blocks(text: str, lowered: str) -> Iterator[Secret]:
    end = 0
    for place in _places(text, "-----BEGIN "):
        if place >= end and (match := _KEY_BLOCK.match(text, place)):
            end = match.end()
            yield Secret(place, end, "private-key")


_BEARER = re.compile(r"(?:bearer|basic|token)\s{1,4}([A-Za-z0-9._~+/-]{12,2000}=*)", re.I)
_HEADER = re.compile(r"authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?", re.I)


def _bearers(text: str, lowered: str) -> Iterator[Secret]:
    for place in _places(lowered, "bearer", "authorization"):
        header = _HEADER.match(text, place)
        if (match := _BEARER.match(text, header.end() if header else place)) and _looks_secret(match[1]):
            yield Secret(match.start(1), match.end(1), "bearer-token")


_URL = re.compile(r"://([^\s:/@\"'<>]{0,100}):([^\s/@\"'<>]{3,200})@([\w.-]{1,200})")


def _urls(text: str, lowered: str) -> Iterator[Secret]:
    for place in _places(text, "://"):
        match = _URL.match(text, place)
        if not match or _PLACEHOLDER.search(match[2]) or _RESERVED.search(match[3]):
            continue
        word = unquote(match[2])
        if word.lower() != match[1].lower() and len(word) >= 6 and (any(map(str.isdigit, word)) or len(word) >= 10):
            yield Secret(match.start(2), match.end(2), "url-password")


_PREFIXES = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "sk_live_", "rk_live_"),
    *("AIza", "npm_", "hf_", "pypi-AgEI"),
)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{24,300}")


def _prefixed(text: str, lowered: str) -> Iterator[Secret]:
    for place in _places(text, *_PREFIXES):
        match = _TOKEN.match(text, place)
        if (
            match
            and not text[place - 1 : place].isalnum()
            and any(map(str.isdigit, match[0]))
            and entropy(match[0]) >= 3.5
        ):
            yield Secret(place, match.end(), "token")


_LOCAL = re.compile(r"(?<![A-Za-z0-9._%+/:@-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}$")
_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,5}([A-Za-z]{2,24})(?![\w(\[@-])")
_TOP = frozenset(
    re.findall(
        r"\w+",
        """com org net edu gov mil int info biz io dev app ai co me tv name pro cloud tech online xyz email us uk de fr
        es it nl be ch at se no dk fi cz hu ro gr pt ie ca au nz jp cn kr tw hk sg in br mx ar cl ru ua il tr za eu""",
    )
)
_RESERVED = re.compile(r"(?:^|\.)(?:example\.(?:com|org|net|edu)|test|invalid|localhost|local)$", re.I)
_ROLES = frozenset({"git", "noreply", "no-reply", "donotreply", "svn", "hg", "user", "users", "username"})


def _emails(text: str, lowered: str) -> Iterator[Secret]:
    for place in _places(text, "@"):
        if not text[place - 1 : place].isalnum():
            continue
        domain = _DOMAIN.match(text, place + 1)
        if not domain or domain[1].lower() not in _TOP or _RESERVED.search(domain[0]):
            continue
        local = _LOCAL.search(text, max(0, place - 66), place)
        if local and local[0].lower() not in _ROLES:
            yield Secret(local.start(), domain.end(), "email")


_RULES = (_aws, _assignments, _key_blocks, _bearers, _urls, _prefixed, _emails)


def _own(text: str) -> list[Secret]:
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow when lowered; offsets must not
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return [secret for rule in _RULES for secret in rule(text, lowered)]
