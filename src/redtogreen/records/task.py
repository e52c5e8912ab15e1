"""One clear goal in one prepared repository, with the tests that decide."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from redtogreen.records.base import SCHEMA, Record

Kind = Literal["issue", "fix", "feature", "reimplementation"]
Use = Literal["train", "eval", "seed"]


class Provenance(Record, kw_only=True, omit_defaults=True):
    """Where a task's code comes from."""

    project: str
    """Name of the project; tasks of one project never stand on both sides of a split."""
    version: str | None = None
    """Version or commit; None: not known."""
    license: str | None = None
    """SPDX expression or the project's own words; None: not stated."""
    origin: str | None = None
    """`sdist`, `folder` or `git`."""
    operator: str | None = None
    """Mutation operator; only for tasks made by `mutate`. Never shown to an agent."""


class StartState(Record, kw_only=True):
    """The repository an agent starts from."""

    files: list[str] = []
    """Source files worth reading first, POSIX paths."""
    branch: str | None = None
    """Branch or label."""
    tree: str | None = None
    """Content hash of all files, `sha256:...`."""


class Reference(Record, kw_only=True):
    """The solution that proves the task can be solved."""

    tree: str
    """Content hash of the solved repository, all tests included."""
    patch: str
    """Unified diff from the start state to the solution, tests left out."""


class TestSets(Record, kw_only=True):
    """Which test does what. The three kinds are set apart once, when a task is admitted."""

    __test__ = False  # not a test class, whatever a test runner may think

    visible: list[str] = []
    """Ids the agent may read and run."""
    f2p: list[str] = []
    """Reward tests that fail at the start and pass with the reference."""
    p2p: list[str] = []
    """Reward tests that pass before and must pass after."""
    evaluation: list[str] = []
    """Ids cut out of the start state; they measure completion and never influence a reward."""
    hidden_inputs: dict[str, Any] = {}
    """Inputs the grader generates; empty when there are none."""


class Limits(Record, kw_only=True):
    """What one attempt may use."""

    steps: Annotated[int, Meta(ge=1, le=100_000)] = 30
    seconds: Annotated[float, Meta(gt=0, le=604_800)] = 600.0
    """Wall clock of the whole attempt, at most a week."""
    memory: Annotated[str, Meta(pattern=r"^\d{1,9}(\.\d{1,3})?\s*[KMGTkmgt]?(i?B)?$")] = "512M"
    """Of all processes of the sandbox together."""
    actions: list[str] | None = None
    """Allowed action names; None: all."""


class Certificate(Record, kw_only=True):
    """What admission proved."""

    proof: Literal["selected", "full"] = "full"
    """`full`: the whole suite was run; `selected`: only tests that can reach the change."""
    reference_runs: int = 0
    """How often the reference passed."""
    flaky: list[str] = []
    """Ids that changed their status between runs; they are in no set."""
    flaky_rate: float | None = None
    """Share of the suite's ids that were flaky, in [0, 1]."""
    empty_patch: str | None = None
    """Outcome the grader gave to doing nothing; `failed` for every admitted task."""
    strength: float | None = None
    """Mutation score of the reward tests on the lines the reference touches; None: not measured."""


class Task(Record, kw_only=True):
    """A task as it lies in a tasks file."""

    schema: int = SCHEMA
    task_id: str
    kind: Kind
    source: str
    """Name of the source that made it, for example `mutate`."""
    task_desc: str
    """What the agent is told. Never names the file or the fix."""
    provenance: Provenance
    start_state: StartState
    reference: Reference | None = None
    environment: str | None = None
    """Content hash of the environment's specification."""
    runner: str = "pytest"
    tests: TestSets
    protected: list[str] = []
    """Glob patterns of paths whose changes the grader ignores."""
    limits: Limits = field(default_factory=Limits)
    require: list[str] = []
    """Guarantees (`redtogreen doctor` lists them) that the sandbox must enforce; where one does not hold the task is
    refused, never run with less."""
    difficulty: float | None = None
    """1 minus the measured solve rate, in [0, 1]; None: not measured."""
    use: Use = "train"
    certificate: Certificate | None = None
    """None: not admitted yet."""
    extra: dict[str, Any] = {}

    def view(self) -> TaskView:
        """What an agent may know. Its `task_id` leaves out the middle part, which can name how the task was made."""
        first, _, rest = self.task_id.partition("/")
        return TaskView(
            task_id=f"{first}/{rest.rpartition('/')[2]}" if rest else first,
            task_desc=self.task_desc,
            files=list(self.start_state.files),
            visible_tests=list(self.tests.visible),
            limits=self.limits,
        )


class TaskView(Record, kw_only=True):
    """The part of a task that an agent sees: no reference, no operator, no evaluation tests."""

    task_id: str
    task_desc: str
    files: list[str] = []
    visible_tests: list[str] = []
    limits: Limits = field(default_factory=Limits)
