"""Suspicion follows the spectrum, the traceback and the words of the failing test."""

from __future__ import annotations

import pytest

from redtogreen.trajectories.agents.repair.failure import Failure
from redtogreen.trajectories.agents.repair.localise import ochiai, places, read_spectrum, words_of


def test_ochiai_is_1_for_lines_that_only_failing_tests_execute():
    assert ochiai(2, 0, 2) == 1.0
    assert ochiai(0, 3, 2) == 0.0
    assert ochiai(1, 3, 1) == pytest.approx(0.5)


def test_the_compact_spectrum_is_read_line_by_line():
    assert read_spectrum({"spectrum": {"a.py": [[3, 4, 1, 2]]}}) == {"a.py": {3: (1, 2), 4: (1, 2)}}


def test_words_are_the_parts_of_identifiers():
    assert words_of("_parse_bareKey HTTPServer") == {"parse", "bare", "key", "http", "server"}


def order(spectrum, failures=(), words=frozenset(), names=None):
    def name(path, line):
        return (names or {}).get(line)

    return [place.line for place in places({"a.py": spectrum}, failures, name, set(words))]


def test_lines_of_failing_tests_come_before_lines_of_all_tests():
    assert order({1: (1, 9), 2: (1, 0), 3: (1, 3)}, names={1: "f", 2: "g", 3: "h"})[0] == 2


def test_the_innermost_frame_counts_when_the_code_itself_raised():
    spectrum = {1: (1, 1), 2: (1, 1), 3: (1, 1)}
    frames = (("t.py", 1, "test"), ("a.py", 1, "f"), ("a.py", 3, "g"))
    assert order(spectrum, [Failure("t", "TypeError", "", frames)], names={1: "f", 2: "g", 3: "g"})[0] == 3


def test_a_function_called_like_the_test_is_more_suspicious():
    assert order({1: (1, 1), 2: (1, 1)}, words={"parse"}, names={1: "render", 2: "parse_key"})[0] == 2
