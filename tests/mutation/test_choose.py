"""choose: the same for the same seed, spread over operators, files and functions, and never what no test reaches."""

from __future__ import annotations

import configparser
import heapq
import shlex
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redtogreen.errors import UsageError
from redtogreen.mutation import OPERATORS, choose, find_mutations


@pytest.fixture(scope="module")
def pool():
    files = [Path(module.__file__) for module in (configparser, heapq, shlex, textwrap)]
    return [m for file in files for m in find_mutations(file.name, file.read_bytes())]


def always(mutation):
    return 1.0


def test_same_seed_same_choice_and_other_seed_another(pool):
    first = choose(pool, 40, 7, reached=always)
    assert first == choose(pool, 40, 7, reached=always)
    assert len(first) == 40
    assert len(set(first) & set(choose(pool, 40, 8, reached=always))) < 20


def test_order_of_the_input_does_not_matter(pool):
    assert choose(pool[::-1], 30, 1, reached=always) == choose(pool, 30, 1, reached=always)


def test_asking_for_more_extends_the_list(pool):
    assert choose(pool, 60, 3, reached=always)[:20] == choose(pool, 20, 3, reached=always)


def test_spread(pool):
    """Realistic operators get more turns; nothing takes over, although wrong_var has by far the most sites."""
    chosen = choose(pool, 40, 0, reached=always)
    operators = Counter(m.operator for m in chosen)
    assert len(operators) >= 15
    assert operators["wrong_var"] >= 2 and operators["stmt_delete"] >= 2
    assert operators["wrong_var"] >= operators["compare_swap"]
    assert max(operators.values()) <= 5
    assert {m.path for m in chosen} == {m.path for m in pool}
    assert max(Counter((m.path, m.function) for m in chosen).values()) <= 6


def test_what_no_test_reaches_is_never_chosen(pool):
    chosen = choose(pool, 30, 0, reached=lambda m: 0.0 if m.path != "heapq.py" else 1.0)
    assert len(chosen) == 30 and {m.path for m in chosen} == {"heapq.py"}
    assert choose(pool, 30, 0, reached=lambda m: 0.0) == []


def test_better_reached_code_is_preferred(pool):
    chosen = choose(pool, 40, 0, reached=lambda m: 1.0 if m.path == "shlex.py" else 0.001)
    assert sum(m.path == "shlex.py" for m in chosen) > 30


def test_one_mutation_per_site_and_no_change_twice(pool):
    chosen = choose(pool * 2, 10**6, 0, reached=always)
    assert len(chosen) > 500
    assert len({(m.operator, m.path, m.start) for m in chosen}) == len(chosen)
    assert len({(m.path, m.start, m.end, m.replacement) for m in chosen}) == len(chosen)


@pytest.mark.parametrize("weight", [-0.1, 1.5, float("nan")])
def test_a_weight_outside_0_to_1_is_refused(pool, weight):
    with pytest.raises(UsageError, match="reached"):
        choose(pool[:3], 1, 0, reached=lambda m: weight)


@settings(max_examples=25, deadline=None)
@given(count=st.integers(0, 80), seed=st.integers(0, 2**32), share=st.floats(0.0, 1.0))
def test_never_more_than_asked_and_always_from_the_pool(pool, count, seed, share):
    chosen = choose(pool[:400], count, seed, reached=lambda m: share)
    assert len(chosen) == (min(count, len(chosen)) if share else 0)
    assert set(chosen) <= set(pool[:400])
    assert all(m.operator in OPERATORS for m in chosen)
