"""An agent's only door to the repository: checks each action, performs it, measures, writes it down, answers.

The order is the promise: when the agent has its answer, the step is on the disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from redtogreen.errors import AgentError, RedToGreenError, SandboxError, nearest
from redtogreen.execution.sandboxes.contract import Changes, Sandbox
from redtogreen.execution.trees import load_tree
from redtogreen.protocols import Answer, AttemptEnded
from redtogreen.records import ACTIONS, Ending, Feedback, Step, Task
from redtogreen.store import BlobStore
from redtogreen.trajectories.recording.actions import Actions
from redtogreen.trajectories.recording.journal import JournalWriter
from redtogreen.trajectories.recording.kept_changes import keep_changes
from redtogreen.trajectories.recording.probe import Prober
from redtogreen.trajectories.recording.redaction import Redactor
from redtogreen.trajectories.recording.texts import recorded_observation, shorten, shortened
from redtogreen.trajectories.recording.workspace_state import UNSHOWN, WorkspaceState, recorded

PLAN_ACTIONS = ("list_files", "search_text", "search_symbol", "open_file", "write_plan", "submit")
"""What a plan may consist of: it changes nothing and executes nothing."""
CHANGING = ("edit_file", "create_file", "delete_file", "run_command", "run_test", "run_lint")
"""After these the workspace is looked at for changes."""
MAX_DIFF = 200_000
"""Characters of a step's diff; a longer one is stored whole as a blob named in the step's `extra`."""

Stage = Literal["plan", "coding"]


class RecordingWorkspace:
    """A `protocols.Workspace` that records. One per attempt.

    `emit` is told of each step after it is durable. `start_probe` is the measurement of the start state.
    """

    def __init__(
        self,
        task: Task,
        sandbox: Sandbox,
        *,
        attempt: str,
        store: BlobStore,
        blobs: BlobStore,
        journal: JournalWriter,
        prober: Prober,
        redactor: Redactor,
        emit: Callable[[dict[str, Any]], None] = lambda event: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.task = task.view()
        self.steps: list[Step] = []
        self.ending: Ending | None = None
        self.redacted_files: set[str] = set()
        self.changes: Changes = {}
        """The workspace against the start state, as of the last step."""
        self.failure: Exception | None = None
        """Why no further step is possible: the machine failed, not the agent."""
        self.busy = False
        """Whether a step is under way; nothing may interrupt it then."""
        self._task, self._sandbox, self._attempt = task, sandbox, attempt
        self._blobs, self._journal, self._prober = blobs, journal, prober
        self._redactor, self._emit, self._clock = redactor, emit, clock
        self._state = WorkspaceState(load_tree(str(task.start_state.tree), store), store)
        self._actions = Actions(sandbox, self.task)
        self.history: tuple[Step, ...] = ()
        self._clean: set[str] = set()
        """Changed paths whose content holds no secret."""
        self._started = clock()
        self._hidden = 0.0

    def resume(self, history: Sequence[Step]) -> None:
        """Go on after these steps of another attempt, in a sandbox opened with the changes they made.

        Raises SandboxError when the workspace is not as the last of them left it.
        """
        self.changes = self._sandbox.changes()
        self._state.update(self.changes)
        if history and history[-1].tree != self._state.hash:
            raise SandboxError(
                f"the workspace after step {history[-1].step} could not be restored: its content is "
                f"{self._state.hash}, recorded is {history[-1].tree}",
                "branch from another step",
            )
        for step in history:
            self._journal.append({"event": "step", "attempt": self._attempt, "step": msgspec.to_builtins(step)})
        self.history, self.steps = tuple(history), list(history)

    @property
    def steps_left(self) -> int:
        """Actions that may still be taken."""
        return max(0, self.task.limits.steps - len(self.steps))

    @property
    def seconds_left(self) -> float:
        """Wall clock the agent still has; what the recorder itself needs does not count."""
        return self.task.limits.seconds - (self._clock() - self._started - self._hidden)

    def end(self, ending: Ending) -> AttemptEnded:
        """Close the attempt for further actions; returns what to raise. The first ending stays."""
        self.ending = self.ending or ending
        return AttemptEnded(self.ending)

    def act(
        self,
        action: str,
        params: Mapping[str, Any],
        *,
        stage: Stage,
        call: dict[str, Any] | None = None,
        call_id: str | None = None,
    ) -> Answer:
        """Take one action; see `protocols.Workspace.act`."""
        if self.failure is not None:
            raise self.failure
        if self.ending is not None:
            raise AttemptEnded(self.ending)
        if self.steps_left == 0:
            raise self.end("limit_steps")
        if self.seconds_left <= 0:
            raise self.end("limit_seconds")
        if stage not in ("plan", "coding"):
            raise AgentError(f"an action's stage is 'plan' or 'coding', not {stage!r}")
        for what, text in (("action", action), ("call_id", call_id)):
            if not (isinstance(text, str) or (text is None and what == "call_id")) or not _utf8(text):
                raise AgentError(f"{what} must be a text that UTF-8 can hold, not {text!r}")
        plain, call = _plain(params, action), None if call is None else _plain(call, "call")
        self.busy = True
        try:
            return self._act(action, plain, stage, call, call_id)
        except AttemptEnded:
            raise
        except Exception as error:
            self.failure = error
            raise
        finally:
            self.busy = False

    def _act(
        self, action: str, params: dict[str, Any], stage: Stage, call: dict[str, Any] | None, call_id: str | None
    ) -> Answer:
        began = self._clock()
        whole: Mapping[str, bytes] = {}
        if action not in ACTIONS:
            call = call or {"name": action, "params": params}
        refusal = self._refusal(action, stage)
        if refusal is not None:
            observation: dict[str, Any] = {"refused": refusal}
            feedback = Feedback(status="refused")
        else:
            self._actions.seconds_left = self.seconds_left
            result = self._actions.perform(action, params)
            observation, feedback, whole = result.observation, result.feedback, result.full_texts
            if feedback.compile_error is None and observation.get("parse_errors"):
                feedback = msgspec.structs.replace(feedback, compile_error=True)
        seconds = self._clock() - began
        step = Step(
            stage=stage,
            step=len(self.steps) + 1,
            action=action if action in ACTIONS else "other",  # type: ignore[arg-type]
            params=self._redactor.value(params),
            observation=recorded_observation(observation, whole, self._redactor, self._blobs),
            feedback=feedback,
            call=None if call is None else self._redactor.value(call),
            call_id=call_id,
            stage_source="declared",
            seconds=round(seconds, 4),
        )
        failure = self._measure(step) if refusal is None and action in CHANGING else None
        step.tree = self._state.hash
        self._journal.append({"event": "step", "attempt": self._attempt, "step": msgspec.to_builtins(step)})
        self.steps.append(step)
        self._hidden += self._clock() - began - seconds
        self._emit({"event": "step", "attempt": self._attempt, "step": step.step, "action": step.action})
        if failure is not None:
            raise failure
        if action == "submit" and refusal is None:
            raise self.end("submitted")
        return Answer(observation=shortened(observation), feedback=feedback)

    def _refusal(self, action: str, stage: Stage) -> str | None:
        """Why an action may not be taken; None when it may."""
        if action not in ACTIONS or action == "other":
            close = nearest(action, ACTIONS)
            return f"there is no action {action!r}" + (f"; did you mean {close!r}?" if close else "")
        allowed = self.task.limits.actions
        if allowed is not None and action not in allowed and action != "submit":
            return f"{action!r} is not allowed in this task; allowed are: {', '.join(allowed)}"
        if stage == "plan" and action not in PLAN_ACTIONS:
            return f"{action!r} belongs to the coding stage; a plan only reads, searches and writes a plan"
        return None

    def _measure(self, step: Step) -> RedToGreenError | None:
        """Add what the step changed, and a probe if it changed anything; returns why there is no probe if it failed."""
        self.changes = self._sandbox.changes()
        shown = self._state.update(self.changes)
        if not shown:
            return None
        diff = "".join(self._redacted(shown).values())
        if len(diff) > MAX_DIFF:
            step.extra = {"full_diff": self._blobs.put(diff.encode("utf-8", "replace"))}
        step.diff = shorten(diff, MAX_DIFF)
        step.changes = self._keep(shown.keys())
        try:
            step.probe = self._prober.probe(self._task, self.changes)
        except RedToGreenError as error:
            return error
        return None

    def _redacted(self, shown: Mapping[str, str]) -> dict[str, str]:
        """Diffs by path without their secrets; remembers which files held some."""
        clean = {}
        for path, diff in shown.items():
            secrets = self._redactor.count
            clean[path] = self._redactor.text(diff)
            if self._redactor.count > secrets:
                self.redacted_files.add(path)
        return clean

    def final_patch(self) -> str:
        """Unified diff from the start state to the workspace, redacted."""
        return "".join(self._redacted(self._state.against_start()).values())

    def _keep(self, touched: Collection[str]) -> str:
        """Store the changed files as they are now; `touched`: the paths that changed since they were last kept."""
        diffs = self._state.against_start(touched)
        shown = self._redacted(diffs)
        self._clean -= set(touched)
        self._clean |= {path for path, diff in shown.items() if diff == diffs[path] and UNSHOWN not in diff}
        return keep_changes(recorded(self.changes), self._clean, self._redactor, self._blobs)

    def keep_final(self, changes: Changes) -> tuple[str, str]:
        """Store the changed files of the final workspace, redacted; returns the patch and the blob's name."""
        diffs = self._state.against_start()
        shown = self._redacted(diffs)
        clean = [path for path, diff in shown.items() if diff == diffs[path] and UNSHOWN not in diff]
        return "".join(shown.values()), keep_changes(changes, clean, self._redactor, self._blobs)

    @property
    def tree(self) -> str:
        """Content hash of the workspace after the last step."""
        return self._state.hash

    @property
    def redactions(self) -> int:
        return self._redactor.count


def _utf8(text: str | None) -> bool:
    return text is None or text.encode("utf-8", "replace").decode() == text


def _plain(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Parameters as plain JSON values. Raises AgentError when they are not."""
    try:
        plain = msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise AgentError(f"the parameters of {what!r} are not JSON values: {error}") from error
    if not isinstance(plain, dict):
        raise AgentError(f"the parameters of {what!r} must be a mapping, not {type(value).__name__}")
    return plain
