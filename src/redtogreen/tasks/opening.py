"""A task's start state in a sandbox, as an agent finds it, for a person who wants to know why."""

from __future__ import annotations

from dataclasses import replace

from redtogreen.execution.opening import open_lower
from redtogreen.execution.sandboxes import Limits, Sandbox
from redtogreen.grading.workspace import load_workspace, sandbox_limits
from redtogreen.tasks.files import find_task


def open_task(name: str, *, backend: str | None = None, limits: dict[str, float] | None = None) -> Sandbox:
    """A sandbox over the start state of the task `G.jsonl#ID`, with its environment and its limits.

    limits: fields of sandboxes.Limits that replace the task's. Raises UsageError for an unknown task or backend,
    RecordError for a task that is not admitted, EnvironmentUnavailable and SandboxError for a machine that cannot.
    """
    task, store = find_task(name)
    environment, lower = load_workspace(task, store)
    chosen: Limits = replace(sandbox_limits(task, task.limits.seconds), **(limits or {}))  # type: ignore[arg-type]
    return open_lower(lower, environment, backend=backend, limits=chosen)
