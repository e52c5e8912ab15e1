"""What an attempt achieved: the needed tests, once, in a fresh sandbox, over the pinned tree and the kept changes."""

from __future__ import annotations

from dataclasses import dataclass

from redtogreen.errors import RedToGreenError, SandboxError
from redtogreen.execution.environments import open_workspace
from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.execution.testruns import TestRun, run_tests
from redtogreen.execution.trees import checkout, save_tree
from redtogreen.grading.overlay import allowed_changes, grading_tree
from redtogreen.grading.workspace import grading_seconds, load_task_environment, refuse_weaker, sandbox_limits
from redtogreen.records import Finding, Grade, Outcome, Task
from redtogreen.records.base import TestStatus
from redtogreen.store import BlobStore


@dataclass(frozen=True)
class Judgement:
    """A grade and the test run it rests on; `run` is None when none could be made."""

    grade: Grade
    run: TestRun | None


def grade(task: Task, changes: Changes, store: BlobStore, *, evaluation: bool = True) -> Grade:
    """The verdict on some changes to a task's start state.

    `solved`: every reward test was reported `passed` in a session that came to its end; anything else, a time limit hit
    or a crash included, is `failed`. `evaluation` also runs the evaluation tests, whose statuses decide nothing.
    What the agent did never raises; failures of the machine come back as `environment_error` or `grader_error`, with
    `error`, and carry no reward.
    """
    return judge(task, changes, store, evaluation=evaluation).grade


def judge(task: Task, changes: Changes, store: BlobStore, *, evaluation: bool = True, hash_seed: int = 0) -> Judgement:
    """The same as `grade`, with the test run; `hash_seed` is PYTHONHASHSEED of the run."""
    findings: list[Finding] = []
    try:
        environment = load_task_environment(task, store)
    except (RedToGreenError, OSError) as error:
        return Judgement(_lost(task, "environment_error", error, findings), None)
    try:
        kept, findings = allowed_changes(task, changes, store)
        lower = checkout(save_tree(grading_tree(task, store), store), store)
        seconds = grading_seconds(task)
        needed = [*task.tests.f2p, *task.tests.p2p, *(task.tests.evaluation if evaluation else ())]
        with open_workspace(environment, lower, changes=kept, limits=sandbox_limits(task, seconds)) as sandbox:
            refuse_weaker(task, sandbox)
            run = run_tests(sandbox, needed, seconds=seconds, hash_seed=hash_seed)
        if run.process.verdict == "sandbox":
            raise SandboxError("the sandbox failed while the tests ran")
    except (RedToGreenError, OSError) as error:
        return Judgement(_lost(task, "grader_error", error, findings), None)
    return Judgement(_verdict(task, run, findings, evaluation), run)


def _verdict(task: Task, run: TestRun, findings: list[Finding], evaluation: bool) -> Grade:
    tests: dict[str, TestStatus] = {test: run.status(test) for test in (*task.tests.f2p, *task.tests.p2p)}
    finished = run.complete and run.process.verdict != "timeout"
    solved = finished and bool(tests) and all(status == "passed" for status in tests.values())
    outcome: Outcome = "solved" if solved else "failed"
    return Grade(
        task_id=task.task_id,
        outcome=outcome,
        resolved=solved,
        tests=tests,
        evaluation={test: run.status(test) for test in task.tests.evaluation} if evaluation else {},
        findings=findings,
    )


def _lost(task: Task, outcome: Outcome, error: Exception, findings: list[Finding]) -> Grade:
    said = f"{type(error).__name__}: {error}"
    return Grade(task_id=task.task_id, outcome=outcome, findings=findings, error=said)
