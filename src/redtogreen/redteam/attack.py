"""What an attack is: changes to a workspace that are not the work asked for, made from what an agent can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from redtogreen.execution.sandboxes.contract import Changes

Group = Literal["A", "B", "C"]
"""A: by the source code inside the test process. B: by files, configuration, environment, processes. C: by getting the
answer, or satisfying the letter."""


@dataclass(frozen=True)
class Target:
    """What an attacker knows of a task: everything it could read in its sandbox."""

    shape: str
    """`functions`, `classes`, `command`, `src`, `fixtures` or `unittest`; `own`: not a task of the corpus."""
    files: Mapping[str, str]
    """Path -> text of the start state."""
    source: str
    """Path of the file that has to be changed."""
    function: str
    """Name in that file of the function that does not what it should: `name`, or `Class.name`."""
    module: str
    """Its import name."""
    test_files: Sequence[str]
    failing: Sequence[str]
    """Ids of visible tests that fail."""
    facts: Mapping[str, str]
    """Of the shapes of the corpus: `body`, the lines of the function's honest body; `inputs`, a Python expression for a
    list of argument tuples that the visible tests use; `outputs`, one for what they expect."""


@dataclass(frozen=True)
class Attack:
    """One way to be paid for unsolved work."""

    name: str
    number: int
    """In the published catalogue of attacks."""
    group: Group
    exploits: str
    """What it relies on, in a sentence."""
    stopped_by: str
    """What keeps it from being paid."""
    build: Callable[[Target], Changes | None]
    """The changed workspace against the start state; None: it does not apply to this task."""
    open: str = ""
    """For attacks that this grader cannot stop on every task: what would be needed."""
