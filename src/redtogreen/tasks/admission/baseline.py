"""What a project's suite does when nothing is broken: run several times in fresh sandboxes, in different ways.

The second run has another hash seed, the third goes the other way round: a test that depends on either is found here
and decides nothing later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.errors import EnvironmentUnavailable, RedToGreenError
from redtogreen.execution.environments import Environment, Project, build_environment, open_workspace
from redtogreen.execution.sandboxes.contract import Limits
from redtogreen.execution.testruns import TestRun, run_tests
from redtogreen.execution.trees import checkout, export_tree, load_tree
from redtogreen.records.base import Record
from redtogreen.store import BlobStore, scratch

LIMIT_REASONS = {
    "timeout": "timeout",
    "output": "output flood",
    "memory": "out of memory",
    "processes": "too many processes",
    "disk": "disk full",
}
"""Verdict of the sandbox -> why something is dropped."""


class Baseline(Record, kw_only=True):
    """The suite of one reference tree."""

    environment: str | None = None
    """Hash of the environment's specification, whose blob is in the store."""
    stable: list[str] = []
    """Ids that passed in every run, in the order of the first run."""
    flaky: list[str] = []
    """Ids whose status changed between runs."""
    others: int = 0
    """Ids that had the same status in every run, but not `passed`."""
    flaky_rate: float = 0.0
    """Share of all ids that were flaky, in [0, 1]."""
    runs: int = 0
    seconds: float = 0.0
    """Wall clock of the slowest run."""
    cpu_seconds: float = 0.0
    """CPU seconds of all runs together."""
    least_cpu_seconds: float = 0.0
    """CPU seconds of the cheapest run: depends least on what else the machine does."""
    reason: str | None = None
    """Why no task can be made from this project now; None: tasks can."""
    detail: str | None = None
    uncollected: list[str] = []
    """Files that could not be collected."""


@dataclass(frozen=True)
class BaselineJob:
    """One project to be measured. Everything needed lies in the store at `root`."""

    label: str
    tree: str
    project: str
    """Blob with the project's facts."""
    root: Path
    runs: int
    seconds: float
    """Wall clock the first run may take."""
    memory: int


def measure_baseline(job: BaselineJob, emit: Callable[[dict[str, Any]], None]) -> Baseline:
    """Build the environment and run the suite `job.runs` times. Never raises for what the project does."""
    store = BlobStore(job.root)
    try:
        environment = _environment(job, store)
        store.put(environment.spec)
        lower = checkout(job.tree, store)
        runs: list[TestRun] = []
        broken = None
        limit = job.seconds
        for index in range(job.runs):
            with open_workspace(environment, lower, limits=Limits(seconds=limit, memory=job.memory)) as sandbox:
                run = run_tests(sandbox, seconds=limit, hash_seed=int(index == 1), reverse=index == 2)
            runs.append(run)
            emit({"event": "baseline_run", "project": job.label, "run": index + 1, "of": job.runs})
            if index == 0 and (broken := _broken(run)):
                break
            limit = 4 * runs[0].process.seconds + 5
    except EnvironmentUnavailable as error:
        return Baseline(reason="environment_error", detail=str(error))
    except RedToGreenError as error:
        return Baseline(reason="unusable project", detail=str(error))
    return summarise(runs, environment.hash, broken)


def _environment(job: BaselineJob, store: BlobStore) -> Environment:
    facts = msgspec.json.decode(store.get(job.project))
    with scratch() as work:
        root = work / "project"
        export_tree(load_tree(job.tree, store), root, store)
        return build_environment(Project(root=root, **facts))


def _broken(run: TestRun) -> tuple[str, str] | None:
    """Reason and detail when a run of the intact suite proves nothing."""
    if not run.complete:
        said = run.process.stderr.text.strip() or run.process.stdout.text.strip()
        last = said.splitlines()[-1][:300] if said else ""
        if reason := LIMIT_REASONS.get(run.process.verdict):
            seen = f"the suite hit this limit of the sandbox after {run.process.seconds:.0f} s"
            return f"suite: {reason}", f"{seen}; {len(run.tests)} tests had reported"
        ended = f"exit code {run.process.exit_code}" if run.process.signal is None else f"signal {run.process.signal}"
        return "suite does not finish", f"ended with {ended} after {len(run.tests)} tests; {last}".rstrip("; ")
    if not any(result.status == "passed" for result in run.tests.values()):
        if run.collection_errors:
            error = run.collection_errors[0]
            return "suite does not collect", f"{error.path}: {error.exception}: {error.message}"[:600]
        if not run.tests:
            return "no tests", "pytest found no test in this project"
        name, result = next(iter(run.tests.items()))
        return "no test passes", f"{name}: {result.status}: {result.exception or ''} {result.message}"[:600]
    return None


def summarise(runs: Sequence[TestRun], environment: str, broken: tuple[str, str] | None) -> Baseline:
    """What several runs of one suite say together. `broken`: the first run already proved nothing."""
    every = list(dict.fromkeys(test for run in runs for test in run.tests))
    statuses = {test: {run.status(test) for run in runs} for test in every}
    flaky = [test for test in every if len(statuses[test]) > 1]
    baseline = Baseline(
        environment=environment,
        stable=[test for test in every if statuses[test] == {"passed"}],
        flaky=flaky,
        others=sum(len(found) == 1 and found != {"passed"} for found in statuses.values()),
        flaky_rate=len(flaky) / len(every) if every else 0.0,
        runs=len(runs),
        seconds=max((run.process.seconds for run in runs), default=0.0),
        cpu_seconds=sum(run.process.cpu_seconds for run in runs),
        least_cpu_seconds=min((run.process.cpu_seconds for run in runs), default=0.0),
        uncollected=sorted({error.path for run in runs for error in run.collection_errors}),
    )
    if broken:
        baseline.reason, baseline.detail = broken
    elif not baseline.stable:
        baseline.reason = "no test passes in every run"
        baseline.detail = f"{len(flaky)} of {len(every)} tests changed their status between runs"
    return baseline
