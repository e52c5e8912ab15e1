"""find_mutations on real and generated files: sound, local, deterministic, for every encoding and line end."""

from __future__ import annotations

import ast
import configparser
import heapq
import json.decoder
import textwrap
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redtogreen.errors import TaskError
from redtogreen.mutation import OPERATORS, find_mutations

MODULES = [configparser, heapq, json.decoder, textwrap]
SAMPLE = b"""\
def clamp(value, low, high):
    if low > high:
        raise ValueError("empty range")
    if value < low: return low
    return min(value, high)


class Counter:
    def __init__(self, start=0, step=1):
        self.start = start
        self.step = step

    def take(self, items, limit):
        \tnote = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d"; total = len(note) + limit
        \tfor item in items[:limit]:
        \t\tif not item and total != 0: break
        \t\ttotal += item
        \treturn total - self.start
"""


def check(source: bytes, encoding: str = "utf-8", most: int = 10**6) -> int:
    """Every mutation (`most`, evenly spread) compiles, changes the tree, and touches no byte outside its span."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original = ast.dump(ast.parse(source))
        results = set()
        found = find_mutations("pkg/m.py", source)
        for mutation in found:
            changed = mutation.apply(source)
            body = mutation.replacement.encode(encoding)
            assert changed == source[: mutation.start] + body + source[mutation.end :]
            if len(results) % -(-len(found) // most) == 0:
                compile(changed, "m.py", "exec", dont_inherit=True)
                assert ast.dump(ast.parse(changed)) != original
            assert changed not in results
            assert 1 <= mutation.line <= source.count(b"\n") + source.count(b"\r") + 1
            assert mutation.operator in OPERATORS and mutation.function and mutation.path == "pkg/m.py"
            results.add(changed)
    return len(found)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_real_files(module):
    """Soundness on code nobody wrote for this test, and the promised speed (10 ms per mutation)."""
    source = Path(module.__file__).read_bytes()
    begin = time.process_time()
    found = find_mutations(module.__file__, source)
    assert (time.process_time() - begin) / len(found) < 0.010
    assert found == find_mutations(module.__file__, source)
    assert len({m.key for m in found}) == len(found)
    assert len({m.operator for m in found}) >= 12
    assert [m.start for m in found] == sorted(m.start for m in found)
    assert len(found) == check(source, most=150)


def test_key_depends_on_everything_but_the_line():
    (first, *_) = find_mutations("a.py", SAMPLE)
    (second, *_) = find_mutations("b.py", SAMPLE)
    assert first.key != second.key
    assert len(first.key) == 10 and int(first.key, 16) >= 0


def shape(source: bytes) -> list[tuple[str, str, str, int]]:
    return [(m.operator, m.function, m.replacement.replace("\r\n", "\n"), m.line) for m in find_mutations("m", source)]


def test_crlf_file_gives_the_same_mutations_and_stays_crlf():
    crlf = SAMPLE.replace(b"\n", b"\r\n")
    assert shape(crlf) == shape(SAMPLE)
    assert check(crlf) == check(SAMPLE)
    for mutation in find_mutations("m.py", crlf):
        changed = mutation.apply(crlf)
        assert changed.count(b"\n") == changed.count(b"\r\n") == changed.count(b"\r")


def test_byte_order_mark_shifts_offsets_only():
    marked = b"\xef\xbb\xbf" + SAMPLE
    assert shape(marked) == shape(SAMPLE)
    assert [m.start - 3 for m in find_mutations("m", marked)] == [m.start for m in find_mutations("m", SAMPLE)]
    assert check(marked) == check(SAMPLE)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "gbk", "shift_jis", "euc-jp"])
def test_other_encodings(encoding):
    """Offsets are in the file's own bytes, though the parser counts UTF-8."""
    word = "\u00e9\u00fc" if encoding in {"latin-1", "cp1252"} else "\u672c\u5b57"
    text = f"# coding: {encoding}\ndef f(a, b):\n    x = g('{word}', a); return h(x, '{word}') < b  # {word}\n"
    source = text.encode(encoding)
    assert check(source, encoding) > 5
    boundary = next(m for m in find_mutations("m.py", source) if m.operator == "compare_boundary")
    assert boundary.apply(source) == text.replace("< b", "<= b").encode(encoding)


def test_characters_before_the_place_count_in_bytes():
    source = "def f(a, b):\n    return g('\u00e4\u20ac\U0001f40d', a < b)\n".encode()
    boundary = next(m for m in find_mutations("m.py", source) if m.operator == "compare_boundary")
    assert source[boundary.start : boundary.end] == b"<"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (b"x = 1\ndef f(:\n", "bad.py, line 2"),
        (b"x = 1\n\n\n'\xff'\n", "bad.py, line 4"),
        (b"# coding: no-such-codec\n", "bad.py, line 1"),
        (b"# coding: rot13\nx = 1\n", "bad.py, line 1"),
        (b"x = 1\x00\n", "bad.py, line"),
        (b"x = " + b"(" * 300 + b")" * 300, "bad.py, line 1"),
        (b"def f(a):\n    return " + b"-" * 5000 + b"a\n", "bad.py, line"),
    ],
)
def test_unusable_file_names_file_and_line(source, says):
    with pytest.raises(TaskError) as caught:
        find_mutations("bad.py", source)
    assert says in caught.value.message and caught.value.hint


@pytest.mark.parametrize("source", [b"", b"\n", b"# only a comment", b"\xef\xbb\xbf", b"def f(): pass"])
def test_files_with_nothing_to_change(source):
    assert find_mutations("m.py", source) == []


def test_nonlocal_and_global_mutants_compile():
    """`nonlocal` without a binding is an error only the compiler sees."""
    source = b"def f(a):\n    n = 0\n    n = a + 1\n    def g(b):\n        nonlocal n\n        n += b\n    return g\n"
    assert check(source) > 3


def test_formatting_around_the_place_is_kept():
    source = (
        b"def f( a,b ):\n\tif (a   and\n\t\t\tb) :   # why\n\t\treturn  a\\\n\t\t\t+ b ;\n"
        b"\tx = [ a ,\n\n  b ] ; return x\n"
    )
    assert check(source) > 5
    kept = next(m for m in find_mutations("m.py", source) if m.operator == "bool_swap").apply(source)
    assert kept == source.replace(b"and", b"or")


names = st.sampled_from(["alpha", "beta", "gamma"])
expressions = st.recursive(
    names | st.integers(0, 9).map(str) | st.sampled_from(["'\u00e4#'", "True", "-1", "f'{alpha + 1}'"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", "-", " * ", " // ", "**", "<<"]), inner).map("".join),
        st.tuples(inner, st.sampled_from(["<", " <= ", " == ", " not in ", " is "]), inner).map("".join),
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map("".join),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"(not {e})"),
        inner.map(lambda e: f"({e})[{e}:]"),
        st.tuples(inner, inner).map(lambda p: f"call({p[0]}, key={p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"beta({p[0]}, {p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        inner.map(lambda e: f"[alpha for alpha in beta if {e}]"),
    ),
    max_leaves=8,
)
simple = st.one_of(
    expressions.map(lambda e: f"gamma = {e}"),
    expressions.map(lambda e: f"alpha += {e}"),
    expressions.map(lambda e: f"alpha.go({e})"),
    expressions.map(lambda e: f"return not {e}"),
)
lines = st.recursive(
    st.lists(simple, min_size=1, max_size=3).map(lambda s: ["; ".join(s)]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(expressions, inner).map(lambda p: [f"if {p[0]}:", *(" " + x for x in p[1])]),
        st.tuples(expressions, simple).map(lambda p: [f"if {p[0]}: {p[1]}", "else:", "\tbeta.stop()"]),
        st.tuples(expressions, inner).map(lambda p: [f"for beta in {p[0]}:", *("\t" + x for x in p[1]), "\tbreak"]),
        st.tuples(expressions, inner).map(lambda p: [f"while {p[0]}:", *("  " + x for x in p[1])]),
        st.tuples(inner, simple).map(lambda p: ["try:", *("  " + x for x in p[0]), f"except KeyError: {p[1]}"]),
    ),
    max_leaves=5,
)


@st.composite
def bodies(draw):
    return draw(lines)


@settings(max_examples=80, deadline=None)
@given(body=bodies(), end=st.sampled_from(["\n", "\r\n"]), mark=st.booleans())
def test_generated_functions(body, end, mark):
    """Any mixture of suites, semicolons, tabs, precedence and line ends."""
    text = "def f(alpha, beta=1):\n" + "".join(f"    {line}\n" for line in body)
    source = (b"\xef\xbb\xbf" if mark else b"") + text.replace("\n", end).encode()
    check(source)
