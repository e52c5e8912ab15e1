"""Progress on stderr: one interface, three implementations.

Events are small dicts. `event` names them:

    stage      a stage of the chain starts: `name`, perhaps `total` (units of work to come)
    total      how many units of work there are: `total`
    step       an agent's step is recorded: `attempt`, `step`
    note       a remark for people: `text`
    candidate, ..._finished     one unit of work is done; counted by `outcome`, `admitted` or `reason`
    anything else               shown by the JSON display only

Where nobody names stages, a change from candidates to attempts starts a new one.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TextIO

from redtogreen.cli.options import DisplayKind

Event = dict[str, Any]
ENOUGH_UNITS, ENOUGH_SECONDS = 5, 5.0
"""What must be done before the time to go is said: the first units wait for caches and environments."""


class Display(Protocol):
    """Shows events. Used as a context manager; `event` is what goes into `on_event`."""

    def event(self, event: Event) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None: ...


def open_display(kind: DisplayKind, title: str, total: int | None = None) -> Display:
    """The display of a kind; `auto` is rich on a terminal and plain elsewhere."""
    if kind is DisplayKind.auto:
        kind = DisplayKind.rich if sys.stderr.isatty() else DisplayKind.plain
    if kind is DisplayKind.json:
        return JsonDisplay(sys.stderr)
    tally = Tally(title, total)
    return RichDisplay(tally) if kind is DisplayKind.rich else PlainDisplay(tally, sys.stderr)


UNITS = {
    "baseline": "candidates",
    "candidate": "candidates",
    "attempt_started": "attempts",
    "step": "attempts",
    "attempt_finished": "attempts",
    "grade_finished": "grades",
}
"""Event -> what is being counted while it happens."""


def lines_of(path: Path, times: int = 1) -> int | None:
    """Lines of a file that hold something, times a number: how much work a tasks file stands for."""
    try:
        with open(path, "rb") as file:
            return times * sum(1 for line in file if line.strip())
    except OSError:
        return None  # whoever opens it for real says what is wrong


class Tally:
    """Counts of one stage: units done by outcome, steps, rate and time to go."""

    def __init__(self, title: str, total: int | None = None):
        self.begin(title, total)

    def begin(self, title: str, total: int | None = None) -> None:
        self.title, self.total = title, total
        self.unit: str | None = None
        self.outcomes: Counter[str] = Counter()
        self.steps = 0
        self.started = time.monotonic()

    @property
    def done(self) -> int:
        return self.outcomes.total()

    def new_stage(self, event: Event) -> tuple[str, int | None] | None:
        """Title and total of the stage an event starts; None: it belongs to the present one."""
        if event.get("event") == "stage":
            return str(event.get("name", "")), event.get("total")
        unit = UNITS.get(str(event.get("event")))
        if unit is None or self.unit in (None, unit):
            self.unit = unit or self.unit
            return None
        return unit, None

    def take(self, event: Event) -> bool:
        """Count one event; whether it finished a unit of work."""
        name = str(event.get("event", ""))
        if name == "total" or (name.endswith("started") and "total" in event):
            self.total = event.get("total")
        elif name == "step":
            self.steps += 1
        elif name == "candidate" or name.endswith("_finished"):
            admitted = "admitted" if event.get("admitted") else None
            said = event.get("outcome") or admitted or event.get("reason") or "done"
            self.outcomes[str(said)] += 1
            return True
        return False

    def counts(self) -> str:
        parts = [f"{name} {count}" for name, count in sorted(self.outcomes.items(), key=lambda item: -item[1])[:6]]
        return ", ".join(parts + ([f"{self.steps} steps"] if self.steps else []))

    def pace(self) -> str:
        seconds = time.monotonic() - self.started
        if not self.done or seconds < 0.5:
            return ""
        rate = self.done / seconds
        text = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
        enough = self.done >= ENOUGH_UNITS and seconds >= ENOUGH_SECONDS
        if enough and self.total is not None and self.total > self.done:
            text += f", {clock((self.total - self.done) / rate)} to go"
        return text

    def line(self) -> str:
        whole = f"/{self.total}" if self.total is not None else ""
        return "  ".join(part for part in (f"{self.title}: {self.done}{whole}", self.counts(), self.pace()) if part)


def clock(seconds: float) -> str:
    """Seconds as `m:ss` or `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class PlainDisplay:
    """A line at most every few seconds, seldomer in a long stage, and one at its end."""

    def __init__(self, tally: Tally, out: TextIO, every: float = 3.0):
        self.tally, self.out, self.every = tally, out, every
        self.said = time.monotonic()
        self.changed = False

    def event(self, event: Event) -> None:
        if stage := self.tally.new_stage(event):
            self._say()
            self.tally.begin(*stage)
            self.said = time.monotonic()
            self._print(f"{self.tally.title} ...")
        if event.get("event") == "note":
            self._print(str(event.get("text", "")))
        elif event.get("event") != "stage":
            self.tally.take(event)
            self.changed = True
            now = time.monotonic()
            if now - self.said >= max(self.every, min((now - self.tally.started) / 20, 10 * self.every)):
                self._say()

    def _say(self) -> None:
        if self.changed:
            self._print(self.tally.line())
        self.said, self.changed = time.monotonic(), False

    def _print(self, text: str) -> None:
        from redtogreen.insight.texts import visible

        self.out.write(visible(text) + "\n")
        self.out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._say()


class JsonDisplay:
    """Every event as one JSON object on a line of its own, flushed at once."""

    def __init__(self, out: TextIO):
        self.out = out

    def event(self, event: Event) -> None:
        self.out.write(json.dumps(event, default=str) + "\n")
        self.out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.out.flush()


class RichDisplay:
    """A bar per stage, redrawn in place."""

    def __init__(self, tally: Tally):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.tally = tally
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[counts]}", markup=False),
            TextColumn("{task.fields[pace]}", markup=False),
            console=Console(stderr=True),
        )
        self.bar: Any = None

    def event(self, event: Event) -> None:
        if stage := self.tally.new_stage(event):
            self._end()
            self.tally.begin(*stage)
            self._begin()
        if event.get("event") == "note":
            self.progress.console.print(self._safe(str(event.get("text", ""))), markup=False, highlight=False)
        elif event.get("event") != "stage":
            self.tally.take(event)
            if self.bar is None:
                self._begin()
            self._update()

    def _begin(self) -> None:
        self.bar = self.progress.add_task(self._safe(self.tally.title), total=self.tally.total, counts="", pace="")

    def _update(self) -> None:
        self.progress.update(
            self.bar,
            total=self.tally.total,
            completed=self.tally.done,
            counts=self._safe(self.tally.counts()),
            pace=self.tally.pace(),
        )

    def _end(self) -> None:
        if self.bar is not None:
            self._update()
            self.progress.update(self.bar, total=self.tally.total or self.tally.done or 1, pace="")
            self.progress.stop_task(self.bar)
            self.bar = None

    @staticmethod
    def _safe(text: str) -> str:
        from redtogreen.insight.texts import visible

        return visible(text)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._end()
        self.progress.stop()
