"""What an attempt achieved: the needed tests, once, in a fresh sandbox, over the pinned tree and the kept changes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from redtogreen.errors import RedToGreenError, SandboxError
from redtogreen.execution.environments import Environment, open_workspace
from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.execution.testruns import TestRun, run_tests
from redtogreen.execution.trees import Tree, checkout, load_tree, save_tree
from redtogreen.grading.detectors import detect, start_files
from redtogreen.grading.overlay import allowed_changes, grading_tree
from redtogreen.grading.twins import TwinnedRun, betrayals, prove_twins, twin
from redtogreen.grading.workspace import grading_seconds, load_task_environment, refuse_weaker, sandbox_limits
from redtogreen.records import Finding, Grade, Outcome, Task, TwinCount
from redtogreen.records.base import TestStatus
from redtogreen.store import BlobStore

PROOF_FACTOR = 10
"""How much longer than a grading run the run may take that tries all twins of the tests."""


@dataclass(frozen=True)
class Judgement:
    """A grade and the test run it rests on; `run` is None when none could be made."""

    grade: Grade
    run: TestRun | None


def grade(task: Task, changes: Changes, store: BlobStore, *, evaluation: bool = True) -> Grade:
    """The verdict on some changes to a task's start state.

    `solved`: every reward test was reported `passed` in a session that came to its end, and every flipped twin of one
    failed; `tampered`: a twin passed with its original; anything else, a time limit hit or a crash included, is
    `failed`. `evaluation` also runs the evaluation tests, whose statuses decide nothing.
    What the agent did never raises; failures of the machine come back as `environment_error` or `grader_error`, with
    `error`, and carry no reward.
    """
    return judge(task, changes, store, evaluation=evaluation).grade


def judge(task: Task, changes: Changes, store: BlobStore, *, evaluation: bool = True, hash_seed: int = 0) -> Judgement:
    """The same as `grade`, with the test run, twins left out; `hash_seed` is PYTHONHASHSEED of the run."""
    findings: list[Finding] = []
    try:
        environment = load_task_environment(task, store)
    except (RedToGreenError, OSError) as error:
        return Judgement(_lost(task, "environment_error", error, findings), None)
    try:
        kept, findings = allowed_changes(task, changes, store)
        findings += detect(task, changes, start_files(task, changes, store))
        tree = grading_tree(task, store)
        lower = checkout(save_tree(tree, store), store)
        seconds = grading_seconds(task)
        rewarding = [*task.tests.f2p, *task.tests.p2p]
        needed = [*rewarding, *(task.tests.evaluation if evaluation else ())]
        twinned = _twinned(task, rewarding, needed, tree, environment, store)
        seconds *= 2 if twinned.twins else 1
        changed = {**kept, **twinned.changes}
        with open_workspace(environment, lower, changes=changed, limits=sandbox_limits(task, seconds)) as sandbox:
            refuse_weaker(task, sandbox)
            run = run_tests(sandbox, twinned.ids(needed), seconds=seconds, hash_seed=hash_seed, brief=True)
        if run.process.verdict == "sandbox":
            raise SandboxError("the sandbox failed while the tests ran")
    except (RedToGreenError, OSError) as error:
        return Judgement(_lost(task, "grader_error", error, findings), None)
    findings += betrayals(run, twinned)
    run = twinned.untwinned(run, needed)
    verdict = _verdict(task, run, findings, evaluation)
    verdict.twins = TwinCount(made=len(twinned.twins), betrayed=sum(one.status == "succeeded" for one in findings))
    return Judgement(verdict, run)


def _twinned(
    task: Task, rewarding: list[str], needed: list[str], tree: Tree, environment: Environment, store: BlobStore
) -> TwinnedRun:
    """The reward tests with their twins; nothing changes where there is no reference that could prove them."""
    if task.reference is None:
        return TwinnedRun()
    solved = load_tree(task.reference.tree, store)
    paths = sorted({test.partition("::")[0] for test in rewarding})
    limits = sandbox_limits(task, PROOF_FACTOR * grading_seconds(task))
    proven = prove_twins(solved, paths, environment, store, limits)
    return twin(rewarding, needed, proven, tree, store, random.SystemRandom())


def _verdict(task: Task, run: TestRun, findings: list[Finding], evaluation: bool) -> Grade:
    kinds = {one.status for one in findings if one.kind == "flipped_twin"}
    tests: dict[str, TestStatus] = {test: run.status(test) for test in (*task.tests.f2p, *task.tests.p2p)}
    finished = run.complete and run.process.verdict != "timeout"
    passed = finished and bool(tests) and all(status == "passed" for status in tests.values())
    solved = passed and not kinds
    outcome: Outcome = "solved" if solved else "tampered" if "succeeded" in kinds else "failed"
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
