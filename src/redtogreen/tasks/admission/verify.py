"""One candidate: does it break something, always the same, and does the grader tell right from wrong?"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.errors import EnvironmentUnavailable, RedToGreenError, TaskError
from redtogreen.execution.environments import Environment, load_environment, open_workspace
from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.execution.testruns import TestResult, TestRun, run_tests
from redtogreen.execution.trees import Tree, apply_changes, checkout, difference, load_tree, save_tree, select
from redtogreen.grading import grading_tree, is_protected, judge, sandbox_limits
from redtogreen.records import Certificate, Task
from redtogreen.records.base import Record
from redtogreen.store import BlobStore
from redtogreen.tasks.admission.baseline import LIMIT_REASONS, Baseline
from redtogreen.tasks.admission.descriptions import Bug, describe, symptom
from redtogreen.tasks.admission.relevant_files import relevant_files
from redtogreen.tasks.admission.splits import Split, split_tests
from redtogreen.tasks.files import Reject, copy_blobs
from redtogreen.tasks.test_functions import cut_functions, cuttable_units, file_of

TOO_BROAD = 0.5
"""Share of the suite's stable tests above which a bug is no longer one."""


class Dropped(Exception):
    """This candidate does not become a task: a short reason and what was seen."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class CandidateJob:
    """One candidate with what is known about its project."""

    task: Task
    baseline: Baseline
    source: Path
    """Blobs of the candidates' file."""
    target: Path
    """Blobs of the admitted tasks' file."""


class Verified(Record, kw_only=True):
    """What became of one candidate: a task or a reject."""

    task: Task | None = None
    reject: Reject | None = None
    cpu_seconds: float = 0.0
    symptom: str = ""
    """Failing tests with their exceptions: equal for bugs that look alike."""


def verify_candidate(job: CandidateJob, emit: Callable[[dict[str, Any]], None]) -> Verified:
    """Prove one candidate. Never raises for what the project does: whatever fails becomes a reject with its reason."""
    proof = _Proof(job)
    try:
        result = Verified(task=proof.admit(), symptom=proof.symptom)
    except Dropped as dropped:
        result = Verified(reject=reject(job.task, dropped.reason, dropped.detail))
    except EnvironmentUnavailable as error:
        result = Verified(reject=reject(job.task, "environment_error", str(error)))
    except RedToGreenError as error:
        result = Verified(reject=reject(job.task, "unusable candidate", str(error)))
    result.cpu_seconds = proof.cpu_seconds
    return result


def reject(task: Task, reason: str, detail: str = "") -> Reject:
    """A reject record for a candidate."""
    return Reject(
        task_id=task.task_id,
        reason=reason,
        detail=detail or None,
        project=task.provenance.project,
        operator=task.provenance.operator,
    )


def grading_limit(baseline: Baseline) -> float:
    """Wall clock the grader gives the reward tests, in seconds: twenty times the suite's CPU time and more.

    Generous, so that a busy machine does not fail honest work; in steps of half a minute, so that the same project gets
    the same limit when it is measured again. An endless loop costs this much.
    """
    return 30.0 * math.ceil((20 + 20 * baseline.least_cpu_seconds) / 30)


class _Proof:
    """The steps of admission for one candidate, in order; `cpu_seconds` counts all test runs."""

    def __init__(self, job: CandidateJob):
        self.candidate, self.baseline = job.task, job.baseline
        self.store, self.origin = BlobStore(job.target), BlobStore(job.source)
        self.cpu_seconds = 0.0
        self.symptom = ""
        self.seconds = 4 * job.baseline.seconds + 5
        self.task = copy.copy(job.task)

    def admit(self) -> Task:
        if self.baseline.reason:
            raise Dropped(self.baseline.reason, self.baseline.detail or "")
        if self.candidate.reference is None or self.baseline.environment is None:
            raise Dropped(
                "no reference", "no solution proves that this task can be solved; give one with --reference DIR"
            )
        copy_blobs(self.candidate, self.origin, self.store)
        environment = load_environment(self.store.get(self.baseline.environment))
        self.task.environment = environment.hash
        self.task.protected = self._protected()
        self.reference = load_tree(self.candidate.reference.tree, self.store)
        whole = grading_tree(self.task, self.store)
        first = self._run(environment, whole, None, hash_seed=0)
        if first.process.verdict == "timeout" and first.process.cpu_seconds < 4 * self.baseline.least_cpu_seconds:
            self.seconds *= 3  # the machine was busy, or it hangs without working: more time tells
            first = self._run(environment, whole, None, hash_seed=0)
        f2p, p2p = self._sets(first)
        f2p, p2p, unsteady = self._confirmed(environment, whole, f2p, p2p)
        self.symptom = "\n".join(f"{test}: {symptom(_result(first, test))}" for test in sorted(f2p))
        split = self._start_state(environment, whole, f2p, p2p)
        self._describe(first, whole, split)
        self.task.extra = {**self.candidate.extra, "grading_seconds": grading_limit(self.baseline)}
        self._prove()
        self.task.certificate = Certificate(
            proof="full",
            reference_runs=self.baseline.runs,
            flaky=sorted({*self.baseline.flaky, *unsteady}),
            flaky_rate=self.baseline.flaky_rate,
            empty_patch="failed",
        )
        return self.task

    def _run(self, environment: Environment, tree: Tree, tests: list[str] | None, *, hash_seed: int) -> TestRun:
        lower = checkout(save_tree(tree, self.store), self.store)
        with open_workspace(environment, lower, limits=sandbox_limits(self.task, self.seconds)) as sandbox:
            run = run_tests(sandbox, tests, seconds=self.seconds, hash_seed=hash_seed)
        self.cpu_seconds += run.process.cpu_seconds
        return run

    def _protected(self) -> list[str]:
        """The candidate's protected paths and every file a known test id names."""
        files = {file_of(test) for test in (*self.baseline.stable, *self.baseline.flaky)}
        extra = {path for path in files if not is_protected(self.candidate, path) and not set(path) & set("*?[")}
        return sorted({*self.candidate.protected, *extra})

    def _sets(self, run: TestRun) -> tuple[list[str], list[str]]:
        """F2P and P2P by the first run of the start state."""
        if not run.complete or run.process.verdict == "timeout":
            reason = LIMIT_REASONS.get(run.process.verdict, "crash")
            raise Dropped(reason, f"the suite ended with {run.process.verdict} after {run.process.seconds:.0f} s")
        failing = [test for test in self.baseline.stable if run.status(test) in ("failed", "error")]
        lost_files = {error.path for error in run.collection_errors} - set(self.baseline.uncollected)
        lost = [t for t in self.baseline.stable if run.status(t) == "absent" and file_of(t) in lost_files]
        passing = [test for test in self.baseline.stable if run.status(test) == "passed"]
        if not failing:
            if lost_files:
                raise Dropped("collection lost", f"nothing fails, but {len(lost_files)} files cannot be collected")
            if run.collection_errors and not passing:
                raise Dropped("collection lost", run.collection_errors[0].message[:300])
            raise Dropped("survived", f"all {len(passing)} tests pass with the bug")
        f2p = sorted({*failing, *lost}, key=self.baseline.stable.index)
        if not passing and self.task.source == "mutate":
            raise Dropped("everything fails", f"all {len(f2p)} tests fail")
        if len(f2p) > TOO_BROAD * len(self.baseline.stable) and self.task.source == "mutate":
            raise Dropped("too broad", f"{len(f2p)} of {len(self.baseline.stable)} tests fail")
        return f2p, passing

    def _confirmed(
        self, environment: Environment, tree: Tree, f2p: list[str], p2p: list[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """F2P and P2P that are the same under another hash seed, and the ids that are not."""
        files = {file_of(test) for test in f2p}
        again = [test for test in (*f2p, *p2p) if file_of(test) in files]
        run = self._run(environment, tree, again, hash_seed=1)
        unsteady = {test for test in f2p if run.status(test) == "passed"}
        unsteady |= {test for test in p2p if file_of(test) in files and run.status(test) != "passed"}
        steady = [test for test in f2p if test not in unsteady]
        if not run.complete:
            reason = LIMIT_REASONS.get(run.process.verdict, "crash")
            raise Dropped(reason, f"a second run ended with {run.process.verdict} after {run.process.seconds:.0f} s")
        if not steady:
            raise Dropped("unstable failures", f"{len(unsteady)} of {len(again)} tests changed in a second run")
        return steady, [test for test in p2p if test not in unsteady], sorted(unsteady)

    def _start_state(self, environment: Environment, whole: Tree, f2p: list[str], p2p: list[str]) -> Split:
        """Set the tests apart and cut the evaluation tests out; the agent's own view must then still fail and pass."""
        cuttable = self._cuttable({file_of(test) for test in (*f2p, *p2p)})
        for allowed, hold_p2p in ((cuttable, True), (cuttable, False), (set(), False)):
            split = split_tests(f2p, p2p, allowed, hold_p2p=hold_p2p)
            tree = self._cut(whole, split)
            if not split.cut or self._consistent(environment, tree, split):
                break
        self.task.tests = split.tests
        self.task.start_state = copy.copy(self.candidate.start_state)
        self.task.start_state.tree = save_tree(tree, self.store)
        return split

    def _cuttable(self, files: set[str]) -> set[str]:
        found: set[str] = set()
        for path in files & self.reference.entries.keys():
            if path.endswith(".py") and is_protected(self.task, path):
                try:
                    found |= cuttable_units(path, self.store.get(self.reference.entries[path].name))
                except TaskError:
                    continue  # a test file that is collected but does not parse as a whole is left as it is
        return found

    def _cut(self, tree: Tree, split: Split) -> Tree:
        changes: Changes = {}
        for path in {file_of(unit) for unit in split.cut}:
            entry = tree.entries[path]
            units = {unit for unit in split.cut if file_of(unit) == path}
            rest = cut_functions(path, self.store.get(entry.name), units)
            changes[path] = FileChange("deleted") if rest is None else FileChange("file", rest, entry.mode == "exec")
        return apply_changes(tree, changes, self.store)

    def _consistent(self, environment: Environment, tree: Tree, split: Split) -> bool:
        touched = {file_of(unit) for unit in split.cut}
        visible = [test for test in split.tests.visible if file_of(test) in touched]
        if not visible:
            return True
        run = self._run(environment, tree, visible, hash_seed=0)
        failing = set(split.tests.f2p)
        return run.complete and all((run.status(test) == "passed") != (test in failing) for test in visible)

    def _describe(self, first: TestRun, whole: Tree, split: Split) -> None:
        """Files worth reading, and the description from the first run, which was made in the `whole` tree."""
        start = load_tree(self.task.start_state.tree or "", self.store)
        sources = select(start, lambda path: path.endswith(".py") and not is_protected(self.task, path))
        changed = [path for path in sources.entries if self.reference.entries.get(path) != sources.entries[path]]
        project = msgspec.json.decode(self.store.get(self.task.extra["project"]))
        roots = project["import_roots"]
        content = lambda paths: {p: self.store.get(start.entries[p].name) for p in paths if p in start.entries}  # noqa: E731
        failing_files = {file_of(test) for test in split.tests.f2p}
        listed = [path for path in project["source_files"] if path in sources.entries]
        self.task.start_state.files = relevant_files(content(failing_files), content(listed or sources.entries), roots)
        if not self.task.task_desc:
            function = self.task.extra.get("mutation", {}).get("function")
            bugs = [Bug(path, function if len(changed) == 1 else None) for path in changed]
            listed = [path for path in whole.entries if path.endswith(".py") and is_protected(self.task, path)]
            tests = {path: self.store.get(whole.entries[path].name) for path in listed}
            failing = {test: _result(first, test) for test in split.tests.f2p}
            self.task.task_desc = describe(failing, tests, bugs, roots, self.task.task_id)

    def _prove(self) -> None:
        """The real grader must pay for the reference, and not for doing nothing."""
        start = load_tree(self.task.start_state.tree or "", self.store)
        changes = difference(start, self.reference, self.store)
        solution = {path: change for path, change in changes.items() if not is_protected(self.task, path)}
        for what, handed_in, wanted in (("reference", solution, "solved"), ("empty patch", {}, "failed")):
            judgement = judge(self.task, handed_in, self.store)
            if judgement.run:
                self.cpu_seconds += judgement.run.process.cpu_seconds
            grade = judgement.grade
            if grade.error:
                raise Dropped("environment_error", grade.error)
            if grade.outcome != wanted:
                bad = [f"{test}: {status}" for test, status in grade.tests.items() if status != "passed"]
                raise Dropped(f"{what} {grade.outcome}", "; ".join(bad[:5]))
            if what == "reference" and grade.completion is False:
                bad = [test for test, status in grade.evaluation.items() if status != "passed"]
                raise Dropped("reference fails evaluation", "; ".join(bad[:5]))


def _result(run: TestRun, test: str) -> TestResult:
    """The result of an id; for one that was lost at collection, the error of its file."""
    if test in run.tests:
        return run.tests[test]
    for error in run.collection_errors:
        if error.path == file_of(test):
            return TestResult(
                status="error", exception=error.exception, message=error.message, traceback=error.traceback
            )
    return TestResult(status="error", message="not collected")
