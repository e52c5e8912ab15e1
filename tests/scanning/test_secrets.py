"""Secrets are found where they stand; what only looks like one is left alone."""

from __future__ import annotations

import hashlib
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.scanning.secrets import find_secrets

GITHUB = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
SECRETS = [
    ("AKIAQ3EGRZ7ABCDEFG2H", "AKIAQ3EGRZ7ABCDEFG2H"),
    ("aws_secret_access_key = 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", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzTTTKEYab"),
    (f"t = '{GITHUB}'", GITHUB),
    ('PASSWORD="hunter2Xq9!zz81"', "hunter2Xq9!zz81"),
    ("{'db_password': 'hunter2Xq9!zz81'}", "hunter2Xq9!zz81"),
    ('{\\"api_key\\": \\"9f8g7h6j5k4l3m2n1\\"}', "9f8g7h6j5k4l3m2n1"),
    ('token = "0123456789abcdef0123456789abcdef"', "0123456789abcdef0123456789abcdef"),
    ("export DB_PASSWORD=Zk39dkw0q\nnext line", "Zk39dkw0q"),
    ("tool --token abcDEF123456\n", "abcDEF123456"),
    ("postgres://app:S3cr3tPw99x@db.internal.net:5432/x", "S3cr3tPw99x"),
    ("Authorization: Bearer abcdefGHIJ1234567890abcdXYZ==", "abcdefGHIJ1234567890abcdXYZ=="),
    ("write to jane.doe@company.com today", "jane.doe@company.com"),
    ("+password = 'é-Straße-9x!'  # in a diff", "é-Straße-9x!"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
@pytest.mark.parametrize("around", ["", "héllo wörld 日本\n"])
def test_finds_exactly_the_secret(text, secret, around):
    """Offsets count characters, whatever stands before and behind."""
    whole = around + text + "\n" + around
    assert [whole[one.start : one.end] for one in find_secrets(whole)] == [secret]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_offsets_of_bytes_count_bytes(text, secret):
    raw = b"\xff\xfe-\xe9\n" + text.encode()
    found = [raw[one.start : one.end] for one in find_secrets(raw)]
    assert secret.encode() in found


def test_private_key_blocks_are_found_whole_and_cut_off():
    body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaU9RvZ1x1Z5j0ZC\n" * 3
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----"
    (found,) = find_secrets(f"a\n{key}\nb")
    assert f"a\n{key}\nb"[found.start : found.end] == key and found.kind == "private-key"
    cut = f"-----BEGIN PRIVATE KEY-----\n{body}"
    (found,) = find_secrets(cut + "(rest of the log)")
    assert found.start == 0 and found.end >= len(cut)


def test_a_comment_cannot_ask_to_be_ignored():
    assert find_secrets(f"x = '{GITHUB}'  # gitleaks:allow kingfisher:ignore nosec")


HARMLESS = [
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "commit " + hashlib.sha1(b"x").hexdigest() + "\n" + hashlib.md5(b"y").hexdigest(),
    str(uuid.UUID(int=2**100 + 12345)),
    "tests/test_a.py::TestToken::test_secret[password-1] PASSED",
    "token = tokens[0]; key = 'abc12345'; password = getpass()",
    "token='LPAREN_TOKEN' secret_name = 'some.dotted.path1'",
    'password = "changeme123" secret="<YOUR_SECRET_1>" api_key="${API_KEY1}" token = "{token1}"',
    "http://user:pass@example.com/ https://alice:p%40ss@host.org/ ssh://git@github.com:22/x",
    "git@github.com:x/y.git  me@example.com  a@b.mean()  W@x.T  @decorator  noreply@github.com",
    'if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError("no keys")',
    "TOKEN_TYPE='alpha2numeric' password_hash='5f4dcc3b5aa765d61d8327deb882cf99'",
    "d['key'] = value; keys = sorted(mapping); primary_key = 'column_1_name'",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_stay(text):
    assert [text[one.start : one.end] for one in find_secrets(text)] == []


def test_the_code_of_this_project_holds_no_secrets():
    """Ordinary code, full of names like token and key, is not touched."""
    from pathlib import Path

    import redtogreen

    for path in Path(redtogreen.__file__).parent.rglob("*.py"):
        text = path.read_text()
        assert [text[one.start : one.end] for one in find_secrets(text)] == [], path


def test_two_secrets_and_order():
    text = f"a={GITHUB} and AKIAQ3EGRZ7ABCDEFG2H"
    assert [text[one.start : one.end] for one in find_secrets(text)] == [GITHUB, "AKIAQ3EGRZ7ABCDEFG2H"]


@given(st.one_of(st.text(), st.binary()))
def test_any_input_gives_ordered_spans_inside_it(text):
    """No crash on surrogates, NULs, letters that grow when lowered; spans never overlap."""
    found = find_secrets(text)
    places = [place for one in found for place in (one.start, one.end)]
    assert places == sorted(places) and all(0 <= place <= len(text) for place in places)


def test_letters_that_grow_when_lowered_do_not_shift_places():
    text = 'İİİ password="hunter2Xq9!zz81"'
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == "hunter2Xq9!zz81"


def test_clean_short_texts_cost_little():
    """A recorder scans every observation: well under a millisecond for a screenful."""
    text = "def area(width, height):\n    return width * height\n" * 15
    find_secrets(text)
    best = min(_timed(text) for _ in range(50))
    assert best < 1e-3


def _timed(text: str) -> float:
    began = time.perf_counter()
    find_secrets(text)
    return time.perf_counter() - began
