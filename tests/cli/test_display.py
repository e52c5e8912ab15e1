"""One stream of events, three ways to show it."""

from __future__ import annotations

import io
import json
import re

import pytest

from redtogreen.cli.display import JsonDisplay, PlainDisplay, RichDisplay, Tally, clock, open_display
from redtogreen.cli.options import DisplayKind

EVENTS = [
    {"event": "stage", "name": "collect", "total": 3},
    {"event": "attempt_started", "attempt": "a"},
    {"event": "step", "attempt": "a", "step": 1},
    {"event": "step", "attempt": "a", "step": 2},
    {"event": "attempt_finished", "attempt": "a", "outcome": "solved"},
    {"event": "attempt_finished", "attempt": "b", "outcome": "failed"},
    {"event": "attempt_finished", "attempt": "c", "outcome": "failed"},
]


def test_json_is_every_event_on_a_line_of_its_own_flushed_at_once() -> None:
    """Whoever kills the process must have seen what was acknowledged."""

    class Stream(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    out = Stream()
    with JsonDisplay(out) as display:
        for number, event in enumerate(EVENTS, 1):
            display.event(event)
            assert out.flushed == number
    assert [json.loads(line) for line in out.getvalue().splitlines()] == EVENTS


def test_plain_says_counts_by_outcome_at_the_end_of_a_stage() -> None:
    out = io.StringIO()
    with PlainDisplay(Tally("start"), out) as display:
        for event in EVENTS:
            display.event(event)
    lines = out.getvalue().splitlines()
    assert lines[0] == "collect ..."
    assert lines[-1].startswith("collect: 3/3  failed 2, solved 1, 2 steps")


def test_a_change_from_candidates_to_attempts_starts_a_new_stage() -> None:
    """`demo` and `run` send both through one display."""
    out = io.StringIO()
    with PlainDisplay(Tally("demo"), out) as display:
        display.event({"event": "baseline", "project": "x", "tests": 3, "reason": None})
        display.event({"event": "candidate", "task_id": "a", "admitted": True, "reason": None})
        display.event({"event": "candidate", "task_id": "b", "admitted": False, "reason": "survived"})
        for event in EVENTS[1:]:
            display.event(event)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("demo: 2  admitted 1, survived 1")
    assert lines[1] == "attempts ..."
    assert lines[2].startswith("attempts: 3  failed 2, solved 1, 2 steps")


def test_plain_does_not_flood_a_log() -> None:
    out = io.StringIO()
    with PlainDisplay(Tally("attempts", 5000), out) as display:
        for number in range(5000):
            display.event({"event": "attempt_finished", "attempt": str(number), "outcome": "failed"})
    assert len(out.getvalue().splitlines()) <= 3
    assert "5000/5000" in out.getvalue()


def test_plain_speaks_every_few_seconds() -> None:
    out = io.StringIO()
    with PlainDisplay(Tally("attempts", 2), out, every=0.0) as display:
        display.event({"event": "attempt_finished", "outcome": "solved"})
        assert "attempts: 1/2  solved 1" in out.getvalue()


def test_notes_are_shown_and_cannot_steer_the_terminal() -> None:
    out = io.StringIO()
    with PlainDisplay(Tally("x"), out) as display:
        display.event({"event": "note", "text": "look \x1b[31mhere"})
    assert out.getvalue() == "look \\x1b[31mhere\n"


@pytest.mark.parametrize("no_colour", [True, False])
def test_rich_shows_the_same_figures(capfd, monkeypatch, no_colour) -> None:
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "140")
    with RichDisplay(Tally("start")) as display:
        for event in [*EVENTS, {"event": "note", "text": "[bold]not markup[/bold]"}]:
            display.event(event)
    text = capfd.readouterr().err
    assert "collect" in text
    assert "3/3" in text
    assert "failed 2, solved 1, 2 steps" in text
    assert "[bold]not markup[/bold]" in text
    assert not re.search(r"\x1b\[3[0-9]m", text)


def test_auto_is_plain_where_there_is_no_terminal() -> None:
    assert isinstance(open_display(DisplayKind.auto, "x"), PlainDisplay)
    assert isinstance(open_display(DisplayKind.json, "x"), JsonDisplay)
    assert isinstance(open_display(DisplayKind.rich, "x"), RichDisplay)


def test_time_to_go_is_readable() -> None:
    assert [clock(seconds) for seconds in (0, 59.6, 61, 3600, 3725)] == ["0:00", "1:00", "1:01", "1:00:00", "1:02:05"]


def test_the_time_to_go_is_said_when_enough_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first units wait for caches; a guess from them is wild."""
    now = [0.0]
    monkeypatch.setattr("redtogreen.cli.display.time.monotonic", lambda: now[0])
    tally = Tally("attempts", 100)
    for _ in range(4):
        now[0] += 20.0
        tally.take(EVENTS[4])
    assert tally.pace() == "3.0/min"
    now[0] += 20.0
    tally.take(EVENTS[4])
    assert tally.pace() == "3.0/min, 31:40 to go"
