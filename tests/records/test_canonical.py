"""Content hashes: equal for equal behaviour, whatever the clock and the machine said."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.records import FinalState, Metadata, StartState, Step, Trajectory
from redtogreen.records.canonical import canonical_json, canonical_trajectory, normalise
from redtogreen.records.trajectory import Feedback


def trajectory(seconds: float, started: str, text: str) -> Trajectory:
    step = Step(
        stage="coding",
        step=1,
        action="run_test",
        params={},
        observation={"stdout_tail": text, "seconds": seconds},
        feedback=Feedback(status="ok"),
        seconds=seconds,
    )
    return Trajectory(
        task_id="t",
        task_desc="d",
        start_state=StartState(files=[]),
        trajectory=[step],
        final_state=FinalState(patch=""),
        metadata=Metadata(seconds=seconds, started=started, seed=3),
    )


def test_durations_clock_times_addresses_and_temporary_paths_do_not_count() -> None:
    first = trajectory(1.5, "2026-01-01T00:00:00Z", "2 passed in 0.31s <A object at 0x7f00aa11bb22> /tmp/tmpab12cd_x/f")
    second = trajectory(
        9.0, "2027-01-01T00:00:00Z", "2 passed in 12.02s <A object at 0x7fffaa11bb33> /tmp/tmpzz99qq_y/f"
    )
    assert canonical_json(canonical_trajectory(first)) == canonical_json(canonical_trajectory(second))


def test_behaviour_counts() -> None:
    first, second = trajectory(1, "", "2 passed in 0.31s"), trajectory(1, "", "3 passed in 0.31s")
    assert canonical_json(canonical_trajectory(first)) != canonical_json(canonical_trajectory(second))


def test_the_record_itself_is_left_alone() -> None:
    row = trajectory(1, "now", "in 0.31s")
    before = msgspec.json.encode(row)
    canonical_trajectory(row)
    assert msgspec.json.encode(row) == before


@pytest.mark.parametrize("text", ["0x12", "took 3 steps", "0xdeadbeefdeadbeefdeadbeef", "/tmp/mine/file", "in 5 lines"])
def test_other_texts_stay(text: str) -> None:
    assert normalise(text) == text


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
