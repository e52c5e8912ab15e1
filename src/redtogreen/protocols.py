"""Every contract on one page. Implementations need not inherit from these classes.

    sandbox       runs foreign code                  execution/sandboxes/contract.py, for it needs nothing of ours
    agent         works on a task                    `Agent`, given a `Workspace`, made by an `AgentFactory`
    reward        one named number of a trajectory   `RewardComponent`
    filter        keeps or drops trajectories        `CleaningRule`
    export        writes a trainer's files           `Exporter`

Plugins register under the entry-point groups `redtogreen.agents`, `.rewards`, `.filters` and `.exports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from redtogreen.records import Ending, Evidence, Feedback, Step, TaskView, Trajectory


class AttemptEnded(Exception):
    """Raised by `Workspace.act` when the attempt is over: submitted, or a limit was reached. Agents let it pass."""

    def __init__(self, ending: Ending):
        super().__init__(ending)
        self.ending = ending


@dataclass(frozen=True)
class Answer:
    """What an agent gets back for one action."""

    observation: dict[str, Any]
    """The environment's answer; long texts shortened at the middle."""
    feedback: Feedback


class Workspace(Protocol):
    """An agent's only way to touch the repository. Every call is recorded before its answer is returned."""

    task: TaskView

    @property
    def history(self) -> Sequence[Step]:
        """Steps that were taken before this agent came: of the attempt it branches from; usually none."""

    @property
    def steps_left(self) -> int:
        """Actions that may still be taken."""

    def act(
        self,
        action: str,
        params: Mapping[str, Any],
        *,
        stage: Literal["plan", "coding"],
        call: dict[str, Any] | None = None,
        call_id: str | None = None,
    ) -> Answer:
        """Take one action with a canonical name (records.ACTIONS) in the sandbox.

        An action that is not allowed, or changes something in the `plan` stage, is answered with status `refused`.
        Raises AttemptEnded after `submit` and when a limit is reached, SandboxError when the machine failed.
        """


class Agent(Protocol):
    """Works once on one task. Returning without `submit` counts as giving up."""

    name: str
    version: str

    def run(self, workspace: Workspace) -> None: ...


@dataclass(frozen=True)
class AgentSettings:
    """What a factory may use to make one agent for one attempt."""

    seed: int
    """Derived from the run's seed, the task and the attempt's index: equal settings give equal behaviour."""
    temperature: float = 0.7
    options: Mapping[str, str] = field(default_factory=dict)
    """`--option name=value` of the command line."""
    reference: Mapping[str, Any] | None = None
    """Changes that solve the task (path -> FileChange); only for factories with `needs_reference = True`."""


class AgentFactory(Protocol):
    """What an entry point of group `redtogreen.agents` names. A function with these parameters is one."""

    def __call__(self, settings: AgentSettings) -> Agent: ...


@dataclass(frozen=True)
class Measurement:
    """What a reward component found in one trajectory."""

    value: float
    evidence: Sequence[Evidence] = ()


class RewardComponent(Protocol):
    """One named number with a stated meaning and range, computed from stored data alone."""

    name: str
    low: float
    high: float
    meaning: str

    def measure(self, trajectory: Trajectory) -> Measurement: ...


class CleaningRule(Protocol):
    """Drops rows for one stated reason."""

    name: str

    def judge(self, rows: Sequence[Trajectory]) -> Mapping[int, str]:
        """Index of each row to drop -> why, with the figure that decided."""


class Exporter(Protocol):
    """Writes a dataset in one trainer's form."""

    name: str

    def write(self, rows: Iterable[tuple[str, Trajectory]], out: Path) -> Mapping[str, int]:
        """Write (split, trajectory) pairs under `out`; returns rows per file."""
