"""A run's journals -> trajectories. The journals are the authority; everything else in a run is made from them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.records import FinalState, Metadata, StartState, Step, Trajectory
from redtogreen.trajectories.collection.run_folder import RunFolder
from redtogreen.trajectories.recording.journal import JournalReport, read_records


class DamagedJournal(RuntimeWarning):
    """A journal is damaged in its middle: what comes after the named place could not be read."""


@dataclass
class AttemptEntry:
    """Where the records of one attempt lie."""

    attempt: str
    task_id: str
    index: int
    retry: int
    file: Path
    places: list[tuple[int, int]] = field(default_factory=list)
    outcome: str | None = None
    """None: started, never finished."""
    marked: bool = False
    """Whether a later collection has noted that it was interrupted."""
    lost: str | None = None
    """How its worker process ended under it; None: it did not, or its collection ended too."""

    @property
    def order(self) -> tuple[str, int, int, str]:
        return self.task_id, self.index, self.retry, self.attempt


_EVENTS = ("attempt_started", "step", "attempt_finished", "attempt_interrupted")


@dataclass
class RunIndex:
    """All attempts of a run, in order of task, index and retry."""

    attempts: list[AttemptEntry]
    ignored: int
    """Bytes of torn tails left out."""
    damage: list[str]


def index_run(run: RunFolder) -> RunIndex:
    """Read through the journals once."""
    found: dict[str, AttemptEntry] = {}
    interrupted: dict[str, str | None] = {}
    ignored, damage = 0, []
    for file in run.journal_files():
        report = JournalReport()
        for place, event in read_records(file, report=report):
            kind, attempt = str(event.get("event")), str(event.get("attempt"))
            stray = kind in ("step", "attempt_finished") and attempt not in found
            if kind not in _EVENTS or stray:
                damage.append(f"{file}: record {place[1]} is {kind!r} of {attempt!r}, which nothing started")
                continue
            if kind == "attempt_started":
                found[attempt] = AttemptEntry(attempt, event["task_id"], event["index"], event["retry"], file)
            elif kind == "attempt_interrupted":
                interrupted[attempt] = event.get("lost")
                continue
            entry = found[attempt]
            entry.places.append(place)
            if kind == "attempt_finished":
                entry.outcome = event["outcome"]
        ignored += report.ignored
        if report.damaged:
            damage.append(report.damaged)
    for attempt in interrupted.keys() & found.keys():
        found[attempt].marked, found[attempt].lost = True, interrupted[attempt]
    return RunIndex(sorted(found.values(), key=lambda entry: entry.order), ignored, damage)


def load_run(path: Path) -> Iterator[Trajectory]:
    """Every attempt of a run, sorted by task and attempt, interrupted ones with the steps they came to.

    Holds one trajectory at a time. Warns (DamagedJournal) when a journal is damaged in its middle; raises UsageError
    when there is no run.
    """
    run = RunFolder.open(path)
    index = index_run(run)
    for problem in index.damage:
        warnings.warn(f"{problem}; what was recorded after it in this file is lost", DamagedJournal, stacklevel=2)
    for entry in index.attempts:
        yield load_attempt(entry)


def load_attempt(entry: AttemptEntry) -> Trajectory:
    """One attempt from its journal."""
    events = []
    for place in _runs(entry.places):
        for reached, event in read_records(entry.file, start=place[0]):
            events.append(event)
            if reached == place[1]:
                break
    row = assemble(events)
    if entry.lost is not None and entry.outcome is None:
        row.metadata.error = entry.lost
    return row


def _runs(places: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Consecutive records as (first, last) places."""
    first = last = places[0]
    for place in places[1:]:
        if place[1] != last[1] + 1:
            yield first, last
            first = place
        last = place
    yield first, last


def assemble(events: Iterable[dict[str, Any]]) -> Trajectory:
    """The records of one attempt -> its trajectory; without a finishing record it is an interrupted one."""
    started: dict[str, Any] = {}
    finished: dict[str, Any] | None = None
    steps: list[Step] = []
    for event in events:
        if event["event"] == "attempt_started":
            started = event
        elif event["event"] == "step":
            steps.append(msgspec.convert(event["step"], Step))
        elif event["event"] == "attempt_finished":
            finished = event
    if finished is not None:
        row = msgspec.convert(finished["trajectory"], Trajectory)
        row.trajectory = steps
        return row
    return Trajectory(
        task_id=started["task_id"],
        attempt=started["attempt"],
        task_desc=started["task_desc"],
        start_state=msgspec.convert(started["start_state"], StartState),
        trajectory=steps,
        final_state=FinalState(patch="", tree=steps[-1].tree if steps else started["start_state"].get("tree")),
        outcome="interrupted",
        metadata=msgspec.convert(started["metadata"], Metadata),
        extra=started["extra"],
    )
