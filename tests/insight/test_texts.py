"""Hostile text is made visible, never obeyed, and never unbounded."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.insight.texts import escape, number, one_line, share, shorten, visible

ANY = st.text(max_size=200)
NASTY = st.text(
    st.sampled_from("\x00\x07\x1b\x7f\x9b\r\n\t\u200b\u202e\u2066\ufeff\u2028<>&\"'[]m0;ab é漢"), max_size=200
)


@given(ANY | NASTY)
def test_nothing_that_steers_is_left(text: str) -> None:
    safe = visible(text)
    for letter in safe:
        assert letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs")
        assert unicodedata.bidirectional(letter) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    assert visible(safe) == safe


@given(st.text(st.sampled_from("abc xyz äöü 漢字 \n\t.,:;()[]{}<>\"'\\/"), max_size=200))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(ANY | NASTY)
def test_escaped_text_holds_no_markup(text: str) -> None:
    safe = escape(text)
    assert not set(safe) & set("<>\"'")


@given(NASTY, st.integers(1, 300))
def test_one_line_is_one_line_and_short(text: str, limit: int) -> None:
    safe = one_line(text, limit)
    assert "\n" not in safe
    assert "\t" not in safe
    assert len(safe) <= limit


@given(st.text(max_size=3000), st.integers(1, 20), st.integers(20, 500))
def test_shortened_text_is_bounded(text: str, lines: int, characters: int) -> None:
    safe = shorten(text, lines, characters)
    assert len(safe) <= characters + 60
    assert len(safe.split("\n")) <= lines + 3


def test_a_long_text_keeps_both_ends_and_says_what_is_missing() -> None:
    safe = shorten("\n".join(map(str, range(100))), 10, 1000)
    assert safe.startswith("0\n1\n")
    assert safe.endswith("\n98\n99")
    assert "90 lines left out" in safe


def test_ansi_and_bidi_are_written_out() -> None:
    assert visible("\x1b[31mred \u202eexe") == "\\x1b[31mred \\u202eexe"


def test_numbers_are_short() -> None:
    assert [number(value) for value in (5.2, -1.8, 1.0, 0.0, -0.00001, 1 / 3, None)] == [
        *("5.2", "-1.8", "1", "0", "0", "0.3333", "-"),
    ]
    assert share(1, 3) == "33 %"
    assert share(0, 0) == "-"
