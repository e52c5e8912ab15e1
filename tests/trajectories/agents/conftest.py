"""A workspace without a recorder: limits, actions, and a list of what was done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from redtogreen.execution.environments import open_workspace
from redtogreen.grading.workspace import load_workspace
from redtogreen.protocols import Answer, AttemptEnded
from redtogreen.records import Step, Task, TaskView
from redtogreen.trajectories.recording.actions import ActionResult, Actions


@dataclass
class Workspace:
    """Acts in a sandbox as the recorder would, and keeps the steps."""

    task: TaskView
    actions: Actions
    steps: list[Step] = field(default_factory=list)
    ending: str = "gave_up"
    final: ActionResult | None = None
    """The whole suite after the attempt."""
    shown: dict[str, Any] = field(default_factory=dict)
    """The source file after the attempt, as open_file shows it."""

    @property
    def steps_left(self) -> int:
        return self.task.limits.steps - len(self.steps)

    def act(self, action: str, params: Any, *, stage: Any, call: Any = None, call_id: Any = None) -> Answer:
        if self.steps_left <= 0:
            raise AttemptEnded("limit_steps")
        if stage == "plan":
            assert action not in ("edit_file", "create_file", "delete_file", "run_test", "run_command", "run_lint")
        result = self.actions.perform(action, params)
        self.steps.append(
            Step(
                stage=stage,
                step=len(self.steps) + 1,
                action=action,  # type: ignore[arg-type]
                params=dict(params),
                observation=result.observation,
                feedback=result.feedback,
            )
        )
        if action == "submit":
            raise AttemptEnded("submitted")
        return Answer(result.observation, result.feedback)


@pytest.fixture
def attempt(material) -> Callable:
    """attempt(task, agent) runs an agent and returns its workspace; `changes` become the sandbox's own at the end."""

    @contextmanager
    def opened(task: Task) -> Iterator[Workspace]:
        environment, lower = load_workspace(task, material.store)
        with open_workspace(environment, lower) as sandbox:
            yield Workspace(task.view(), Actions(sandbox, task.view()))

    def run(task: Task, agent: Any, description: str | None = None, **limits: Any) -> Workspace:
        task = msgspec.structs.replace(task, limits=msgspec.structs.replace(task.limits, **limits))
        if description is not None:
            task = msgspec.structs.replace(task, task_desc=description)
        with opened(task) as workspace:
            try:
                agent.run(workspace)
            except AttemptEnded as end:
                workspace.ending = end.ending
            workspace.final = workspace.actions.perform("run_test", {})
            workspace.shown = workspace.actions.perform("open_file", {"path": "words/counting.py"}).observation
        return workspace

    return run
