"""The steps of one attempt in time order, with everything needed to judge it again."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, field

from redtogreen.records.base import SCHEMA, Record, TestStatus
from redtogreen.records.grade import Grade, Outcome
from redtogreen.records.task import StartState

Action = Literal[
    "list_files",
    "search_text",
    "search_symbol",
    "open_file",
    "edit_file",
    "create_file",
    "delete_file",
    "run_command",
    "run_test",
    "run_lint",
    "write_plan",
    "submit",
    "other",
]
ACTIONS: tuple[str, ...] = get_args(Action)
Stage = Literal["plan", "coding"]
Ending = Literal["submitted", "gave_up", "limit_steps", "limit_seconds", "limit_tokens", "stopped"]
FailureStage = Literal["syntax", "import", "collection", "assertion", "pass"]


class Feedback(Record, kw_only=True, omit_defaults=True):
    """The typed verdict of the environment on one action, as the agent saw it."""

    status: Literal["ok", "error", "refused", "timeout"] | None = None
    """None: the producer did not say; redtogreen's recorder always does."""
    applied: bool | None = None
    """For edits: whether the file changed. None: not an edit, or said only in the observation."""
    passed: int | None = None
    """Tests that passed, for test runs."""
    failed: int | None = None
    """Tests that failed or ended in an error, for test runs."""
    compile_error: bool | None = None
    """Whether the code failed to parse or compile; None means no."""


class Probe(Record, kw_only=True, omit_defaults=True):
    """A hidden measurement of the workspace after a step; the agent never sees it."""

    tests: dict[str, TestStatus] = {}
    """Status of the probed reward tests; all F2P, and of P2P at most a fixed number nearest to them."""
    parse_errors: int = 0
    """Python files of the workspace changed by the agent that do not parse."""
    lint: int = 0
    """Lint findings in the changed files that were not there at the start."""
    failure_stage: FailureStage | None = None
    """The earliest stage at which a probed test broke; `pass`: none did."""
    exceptions: list[str] = []
    """Type names of the exceptions seen in failing tests, sorted."""


class Step(Record, kw_only=True, omit_defaults=True):
    """One action with the environment's answer."""

    stage: Stage
    step: Annotated[int, Meta(ge=1)]
    action: Action
    params: dict[str, Any]
    observation: dict[str, Any]
    """The environment's full answer. Long texts are shortened, `full` then names the blob."""
    feedback: Feedback
    probe: Probe | None = None
    call: dict[str, Any] | None = None
    """The agent's own call, when it differs from the canonical action."""
    call_id: str | None = None
    stage_source: Literal["declared", "inferred"] | None = None
    seconds: float | None = None
    """Wall clock; volatile, never part of a hash."""
    tree: str | None = None
    """Content hash of the workspace after the step."""
    diff: str | None = None
    """Unified diff of what this step changed; None: nothing."""
    changes: str | None = None
    """Blob of the run with every file that differs from the start state after this step, from which others can go on;
    None: as before the step, or not kept."""
    extra: dict[str, Any] = {}


class TestSummary(Record, kw_only=True):
    """Counts over the reward tests."""

    __test__ = False  # not a test class, whatever a test runner may think

    passed: int = 0
    failed: int = 0


class FinalState(Record, kw_only=True, omit_defaults=True):
    """The workspace when the attempt ended."""

    patch: str
    """Unified diff from the start state; empty: nothing changed."""
    test_summary: TestSummary | None = None
    """None: not graded."""
    tree: str | None = None
    """Content hash of the workspace."""
    changes: str | None = None
    """Blob of the run with every changed file, from which the attempt can be graded again; None: not kept."""


class Branch(Record, kw_only=True):
    """Where an attempt began that did not begin at the start of its task."""

    attempt: str
    """The attempt whose first steps it shares."""
    step: int
    """How many of them."""


class Metadata(Record, kw_only=True, omit_defaults=True):
    """Where a trajectory comes from and under which conditions it was recorded."""

    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    sampling: dict[str, Any] = {}
    """Temperature and other sampling settings of the agent."""
    seed: int | None = None
    index: int | None = None
    """Which attempt of its task, from 0."""
    retry: int = 0
    """How often this attempt was lost with its machine before."""
    branch: Branch | None = None
    """None: it began at the start."""
    project: str | None = None
    environment: str | None = None
    recorder: str | None = None
    """Version of redtogreen that recorded it."""
    sandbox: dict[str, Any] = {}
    """Tier and guarantees that held, limits that were hit."""
    redactions: int = 0
    """Secrets replaced while recording."""
    personal: int = 0
    """E-mail addresses replaced while recording."""
    redacted_files: list[str] = []
    """Files whose recorded content differs from the workspace because of a replaced secret."""
    tokens: dict[str, int] = {}
    started: str | None = None
    """ISO 8601; volatile."""
    seconds: float | None = None
    """Wall clock of the attempt; volatile."""
    grade: Grade | None = None
    """What the grader decided, per test id."""
    error: str | None = None
    """What went wrong, for outcomes without a reward."""


class Trajectory(Record, kw_only=True):
    """One attempt as it is exchanged: a row with only the fields of the documented example is valid."""

    schema: int = SCHEMA
    task_id: str
    attempt: str | None = None
    task_desc: str
    start_state: StartState
    trajectory: list[Step]
    final_state: FinalState
    outcome: Outcome | None = None
    ending: Ending | None = None
    success: bool | None = None
    """Whether the task was solved; None where there is no reward."""
    reward: float | None = None
    rewards: dict[str, float] = {}
    """Value of each reward component, unweighted."""
    metadata: Metadata = field(default_factory=Metadata)
    extra: dict[str, Any] = {}
