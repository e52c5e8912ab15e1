"""Candidates in, proven tasks out: the baseline of each project, then every candidate by itself, then the funnel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redtogreen.errors import EnvironmentUnavailable, UsageError
from redtogreen.execution.executors.local import run_jobs
from redtogreen.execution.trees import copy_tree, load_tree
from redtogreen.grading import grading_tree, parse_size
from redtogreen.records import Task, encode
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import BlobStore
from redtogreen.tasks.admission.baseline import Baseline, BaselineJob, measure_baseline
from redtogreen.tasks.admission.progress import Progress
from redtogreen.tasks.admission.verify import CandidateJob, Verified, reject, verify_candidate
from redtogreen.tasks.files import blobs_of, progress_path, read_tasks, write_rejects, write_tasks

OnEvent = Callable[[dict[str, Any]], None]


@dataclass
class Counts:
    """Candidates of one project or operator."""

    candidates: int = 0
    admitted: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """Reason -> count."""
    cpu_seconds: float = 0.0


@dataclass
class AdmitReport(Counts):
    """The funnel of one admission."""

    projects: dict[str, Counts] = field(default_factory=dict)
    operators: dict[tuple[str, str], Counts] = field(default_factory=dict)
    """By project and operator."""
    baselines: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Project -> tests, flaky, flaky_rate, left_out, runs, seconds, reason."""

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Rows of a table: each project as a whole, then its operators."""
        rows = []
        for project, whole in self.projects.items():
            parts = {name: counts for (owner, name), counts in sorted(self.operators.items()) if owner == project}
            for operator, counts in {"all": whole, **parts}.items():
                share = counts.admitted / counts.candidates if counts.candidates else 0.0
                rows.append(
                    {
                        "project": project,
                        "operator": operator,
                        "candidates": counts.candidates,
                        "admitted": counts.admitted,
                        "share": f"{share:.0%}",
                        "cpu_seconds": round(counts.cpu_seconds, 1),
                    }
                )
        return rows


def admit(
    path: Path,
    out: Path,
    workers: int | None = None,
    runs: int = 5,
    *,
    seconds: float = 300.0,
    on_event: OnEvent | None = None,
) -> AdmitReport:
    """Prove the candidates of `path`; write the tasks to `out`, the rejects beside it.

    `runs`: how often the reference must pass, at least 1. `seconds`: wall clock an intact suite may take. One bad
    candidate never stops the others. Stopped in the middle, the same command goes on where it was. Raises UsageError
    when `out` is `path` or is being written by another admission, EnvironmentUnavailable when the machine could judge
    no candidate at all.
    """
    path, out = Path(path), Path(out)
    if os.path.realpath(out) == os.path.realpath(path):
        raise UsageError(f"{out} cannot be both candidates and admitted tasks", "choose another file with --out")
    if runs < 1:
        raise UsageError(f"the reference cannot be run {runs} times", "give a number from 1")
    candidates = read_tasks(path)
    progress = Progress(progress_path(out))
    finished = False
    try:
        admission = _Admission(candidates, blobs_of(path), blobs_of(out), progress, runs, seconds, on_event)
        report = admission.run(workers or max(1, os.cpu_count() or 1), out)
        finished = True
    finally:
        progress.close(finished=finished)
    return report


class _Admission:
    def __init__(
        self,
        candidates: list[Task],
        source: BlobStore,
        target: BlobStore,
        progress: Progress,
        runs: int,
        seconds: float,
        on_event: OnEvent | None,
    ):
        self.candidates, self.source, self.target, self.progress = candidates, source, target, progress
        self.runs, self.seconds = runs, seconds
        self.emit: OnEvent = on_event or (lambda event: None)
        self.baselines: dict[str, Baseline] = {}
        self.labels: dict[str, str] = {}

    def run(self, workers: int, out: Path) -> AdmitReport:
        self._baselines(workers)
        results = self._candidates(workers)
        if results and all(_lost(result) for result in results.values()):
            said = next(result.reject.detail for result in results.values() if result.reject)
            raise EnvironmentUnavailable(
                f"no candidate could be judged on this machine: {said}", "see: redtogreen doctor"
            )
        self._mark_duplicates(results)
        ordered = [results[task.task_id] for task in self.candidates]
        write_rejects(out, [result.reject for result in ordered if result.reject])
        admitted = [result.task for result in ordered if result.task]
        write_tasks(out, admitted)
        _sweep(self.target, admitted)
        return self._report(results)

    def _baselines(self, workers: int) -> None:
        jobs: dict[str, BaselineJob] = {}
        for task in self.candidates:
            key = self._baseline_key(task)
            self.labels[key] = task.provenance.project
            if key in self.baselines or key in jobs:
                continue
            if kept := self._kept_baseline(key):
                self.baselines[key] = kept
            elif task.reference is None or not isinstance(task.extra.get("project"), str):
                why = "give one with --reference DIR" if task.reference is None else "make the candidates again"
                self.baselines[key] = Baseline(reason="no reference", detail=f"nothing proves this task; {why}")
            else:
                copy_tree(task.reference.tree, self.source, self.target)
                self.target.copy_from(self.source, task.extra["project"])
                jobs[key] = BaselineJob(
                    label=task.provenance.project,
                    tree=task.reference.tree,
                    project=task.extra["project"],
                    root=self.target.root,
                    runs=self.runs,
                    seconds=self.seconds,
                    memory=parse_size(task.limits.memory),
                )
        keys = {job: key for key, job in jobs.items()}
        for job, outcome in run_jobs(measure_baseline, jobs.values(), workers, self.emit):
            if isinstance(outcome, BaseException):
                outcome = Baseline(reason="environment_error", detail=f"{type(outcome).__name__}: {outcome}")
            self.baselines[keys[job]] = outcome
            if outcome.reason != "environment_error":
                self.progress.put(keys[job], outcome)
            self.emit(
                {"event": "baseline", "project": job.label, "tests": len(outcome.stable), "reason": outcome.reason}
            )

    def _kept_baseline(self, key: str) -> Baseline | None:
        kept = self.progress.get(key, Baseline)
        usable = kept and (kept.environment is None or self.target.has(kept.environment))
        return kept if usable else None

    def _baseline_key(self, task: Task) -> str:
        tree = task.reference.tree if task.reference else task.task_id
        return digest(canonical_json([tree, task.extra.get("project"), task.limits.memory, self.runs, self.seconds]))

    def _candidate_key(self, task: Task) -> str:
        return digest(encode(task) + self._baseline_key(task).encode())

    def _candidates(self, workers: int) -> dict[str, Verified]:
        results: dict[str, Verified] = {}
        waiting: list[Task] = []
        for task in self.candidates:
            kept = self.progress.get(self._candidate_key(task), Verified)
            if kept:
                results[task.task_id] = kept
                self.emit({**_candidate_event(task, kept), "kept": True})
            else:
                waiting.append(task)
        self._verify(waiting, results, workers)
        lost = [task for task in waiting if _lost(results[task.task_id])]
        self._verify(lost, results, workers)  # what the machine failed to do is tried once more
        for task in lost:
            self.emit(_candidate_event(task, results[task.task_id]))
        return results

    def _verify(self, tasks: list[Task], results: dict[str, Verified], workers: int) -> None:
        jobs = (
            CandidateJob(task, self.baselines[self._baseline_key(task)], self.source.root, self.target.root)
            for task in tasks
        )
        for job, outcome in run_jobs(verify_candidate, self._hopeful(jobs, results), workers, self.emit):
            if isinstance(outcome, BaseException):
                why = "environment_error" if isinstance(outcome, EnvironmentUnavailable) else "unusable candidate"
                outcome = Verified(reject=reject(job.task, why, f"{type(outcome).__name__}: {outcome}"))
            results[job.task.task_id] = outcome
            if not _lost(outcome):
                self.progress.put(self._candidate_key(job.task), outcome)
                self.emit(_candidate_event(job.task, outcome))

    def _hopeful(self, jobs: Iterator[CandidateJob], results: dict[str, Verified]) -> Iterator[CandidateJob]:
        """Candidates whose project can be used; the others are rejected without a process of their own."""
        for job in jobs:
            if job.baseline.reason:
                results[job.task.task_id] = result = verify_candidate(job, self.emit)
                if not _lost(result):
                    self.emit(_candidate_event(job.task, result))
            else:
                yield job

    def _mark_duplicates(self, results: dict[str, Verified]) -> None:
        """Of bugs in the same function with the same failing tests and the same symptoms only the first one stays."""
        seen: dict[tuple[str, str, str], str] = {}
        for task in self.candidates:
            result = results[task.task_id]
            if not result.task:
                continue
            key = (self._baseline_key(task), canonical_json(_place(task)).decode(), result.symptom)
            if key in seen:
                first = seen[key]
                result.reject = reject(task, "duplicate", f"fails like {first}, in the same function")
                result.task = None
            seen.setdefault(key, task.task_id)

    def _report(self, results: dict[str, Verified]) -> AdmitReport:
        report = AdmitReport()
        for task in self.candidates:
            result = results[task.task_id]
            project = report.projects.setdefault(task.provenance.project, Counts())
            tables: list[Counts] = [report, project]
            if task.provenance.operator:
                pair = (task.provenance.project, task.provenance.operator)
                tables.append(report.operators.setdefault(pair, Counts()))
            for table in tables:
                table.candidates += 1
                table.cpu_seconds += result.cpu_seconds
                if result.reject:
                    table.dropped[result.reject.reason] = table.dropped.get(result.reject.reason, 0) + 1
                else:
                    table.admitted += 1
        for key, baseline in self.baselines.items():
            report.cpu_seconds += baseline.cpu_seconds
            label = self.labels[key]
            report.projects[label].cpu_seconds += baseline.cpu_seconds
            report.baselines[label] = {
                "tests": len(baseline.stable),
                "flaky": baseline.flaky,
                "flaky_rate": baseline.flaky_rate,
                "left_out": baseline.others,
                "runs": baseline.runs,
                "seconds": baseline.seconds,
                "reason": baseline.reason,
                "detail": baseline.detail,
            }
        return report


def _lost(result: Verified) -> bool:
    """Whether the machine failed, and the candidate may be as good as any."""
    return result.reject is not None and result.reject.reason == "environment_error"


def _place(task: Task) -> dict[str, Any]:
    mutation = task.extra.get("mutation")
    if not isinstance(mutation, dict):
        return {"start": task.start_state.tree}
    return {name: mutation.get(name) for name in ("path", "function")}


def _candidate_event(task: Task, result: Verified) -> dict[str, Any]:
    reason = result.reject.reason if result.reject else None
    return {"event": "candidate", "task_id": task.task_id, "admitted": reason is None, "reason": reason}


def _sweep(store: BlobStore, tasks: list[Task]) -> None:
    """Remove blobs that no admitted task needs: the trees of rejected candidates. Grading then writes nothing here."""
    needed: set[str | None] = {grading_tree(task, store).hash for task in tasks}
    trees = {task.start_state.tree for task in tasks} | {task.reference.tree for task in tasks if task.reference}
    for name in trees:
        if name is None:
            continue
        needed |= {name} | {entry.name for entry in load_tree(name, store).entries.values()}
    needed |= {task.environment for task in tasks} | {task.extra.get("project") for task in tasks}
    for name in list(store.names()):
        if name not in needed:
            hexes = name.removeprefix("sha256:")
            (store.root / hexes[:2] / hexes[2:]).unlink(missing_ok=True)
