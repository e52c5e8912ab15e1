"""What has to be opened to work on a task or to judge it: environment, folder, limits."""

from __future__ import annotations

import re
from pathlib import Path

from redtogreen.errors import RecordError
from redtogreen.execution.environments import Environment, load_environment
from redtogreen.execution.sandboxes.contract import Limits, Sandbox
from redtogreen.execution.sandboxes.guarantees import demand
from redtogreen.execution.trees import checkout
from redtogreen.records import Task
from redtogreen.store import BlobStore

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(text: str) -> int:
    """Bytes of a size such as `512M` or `1.5G` (powers of 1024). Raises RecordError for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise RecordError(f"not a size: {text!r}", "write for example 512M or 2G")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def sandbox_limits(task: Task, seconds: float) -> Limits:
    """Limits of a sandbox for this task; `seconds` of wall clock for one command."""
    return Limits(seconds=seconds, memory=parse_size(task.limits.memory))


def refuse_weaker(task: Task, sandbox: Sandbox) -> None:
    """Raises SandboxError when a sandbox does not enforce every guarantee the task requires."""
    demand(task.require, sandbox.guarantees, f"task {task.task_id}")


def grading_seconds(task: Task) -> float:
    """Wall clock the reward tests may take: `extra["grading_seconds"]`, which admission sets, else two minutes."""
    measured = task.extra.get("grading_seconds")
    return float(measured) if isinstance(measured, int | float) else 120.0


def load_task_environment(task: Task, store: BlobStore) -> Environment:
    """The environment a task names. Raises RecordError when its blob is missing, EnvironmentUnavailable when this
    machine cannot build it."""
    if task.environment is None:
        raise RecordError(
            f"task {task.task_id} has no environment yet",
            "prove it first with: redtogreen tasks admit F.jsonl --out G.jsonl",
        )
    return load_environment(store.get(task.environment))


def load_workspace(task: Task, store: BlobStore) -> tuple[Environment, Path]:
    """The environment of a task and the read-only folder of its start state, both made if they are missing."""
    if task.start_state.tree is None:
        raise RecordError(f"task {task.task_id} names no start tree", "make the task again with: redtogreen tasks make")
    return load_task_environment(task, store), checkout(task.start_state.tree, store)
