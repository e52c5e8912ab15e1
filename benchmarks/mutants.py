"""Mutants judged per CPU second: the pre-filter beside the whole suite cold for each; how often they agree.

    python -m benchmarks.mutants toolz-1.2.0.tar.gz [boltons-26.2.0.tar.gz ...] [--mutants 200] [--full 30] [--seed 0]

Mutants are a uniform sample of all places. The pre-filter judges all of them in one run, whose CPU time holds
everything: start, collection, the measured run, the forks. The first `--full` of them are also run whole and cold, each
in a fresh sandbox. CPU time, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest

from benchmarks._opened import opened
from redtogreen.errors import TaskError
from redtogreen.execution.environments import Environment, open_workspace
from redtogreen.execution.sandboxes import Limits
from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.execution.testruns import TestRun, run_tests
from redtogreen.execution.testruns.prefilter import Mutant, Prefiltered, prefilter
from redtogreen.mutation import Mutation, find_mutations

LIMITS = Limits(seconds=900, memory=2**30)


@dataclass
class Full:
    """One mutant's whole cold run."""

    verdict: str
    cpu_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--full", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, pytest {pytest.__version__}, coverage {coverage.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.projects:
            _measure(path, Path(folder), arguments)


def _measure(path: Path, folder: Path, arguments: argparse.Namespace) -> None:
    made = opened(path, folder)
    project, environment, lower = made.project, made.environment, made.lower
    sources = {name: (lower / name).read_bytes() for name in project.source_files if (lower / name).is_file()}
    chosen = _sample(sources, arguments)
    mutants = [Mutant(m.key, m.path, m.start, m.end, _replacement(m, sources[m.path])) for m in chosen]
    with open_workspace(environment, lower, limits=LIMITS) as sandbox:
        judged = prefilter(sandbox, mutants, seconds=LIMITS.seconds)
    intact = _run(environment, lower, {})
    full = {m.key: _full(environment, lower, m, sources[m.path], intact) for m in chosen[: arguments.full]}
    _print(project.name, len(intact.tests), judged, full, {m.key: m for m in chosen})


def _sample(sources: dict[str, bytes], arguments: argparse.Namespace) -> list[Mutation]:
    found: list[Mutation] = []
    for name, content in sources.items():
        try:
            found += find_mutations(name, content)
        except TaskError:
            continue
    return random.Random(arguments.seed).sample(found, min(arguments.mutants, len(found)))


def _replacement(mutation: Mutation, source: bytes) -> bytes:
    whole = mutation.apply(source)
    return whole[mutation.start : len(whole) - (len(source) - mutation.end)]


def _run(environment: Environment, lower: Path, changes: dict[str, FileChange], seconds: float = 120) -> TestRun:
    with open_workspace(environment, lower, changes=changes, limits=LIMITS) as sandbox:
        sandbox.preload = None
        return run_tests(sandbox, seconds=seconds)


def _full(environment: Environment, lower: Path, mutation: Mutation, source: bytes, intact: TestRun) -> Full:
    seconds = 4 * intact.process.seconds + 5
    run = _run(environment, lower, {mutation.path: FileChange("file", mutation.apply(source))}, seconds)
    if run.process.verdict == "timeout":
        verdict = "timeout"
    else:
        passing = (test for test, result in intact.tests.items() if result.status == "passed")
        verdict = "killed" if any(run.status(test) in ("failed", "error", "absent") for test in passing) else "survived"
    return Full(verdict, run.process.cpu_seconds)


def _print(name: str, tests: int, judged: Prefiltered, full: dict[str, Full], chosen: dict[str, Mutation]) -> None:
    verdicts = Counter(mutant.verdict for mutant in judged.mutants.values())
    each = judged.process.cpu_seconds / len(judged.mutants)
    forks = sum(mutant.cpu_seconds for mutant in judged.mutants.values())
    known = len(judged.mutants) - verdicts["unknown"]
    print(f"\n{name}: {tests} tests, {len(judged.mutants)} mutants, {known} judged: {dict(verdicts)}")
    print(
        f"  pre-filter   {known / judged.process.cpu_seconds:8.1f} judged per CPU second; {1000 * each:.1f} ms of CPU "
        f"a mutant, {1000 * (judged.process.cpu_seconds - forks) / len(judged.mutants):.1f} of them outside the forks"
    )
    if not full:
        return
    cold = statistics.mean(run.cpu_seconds for run in full.values())
    ratio = known / judged.process.cpu_seconds * cold
    print(
        f"  whole, cold  {1 / cold:8.2f} judged per CPU second; {1000 * cold:.0f} ms of CPU a mutant; "
        f"the pre-filter judges {ratio:.1f} x as many"
    )
    pairs = {key: (judged.mutants[key], run.verdict) for key, run in full.items()}
    decided = {key: pair for key, pair in pairs.items() if pair[0].verdict != "unknown"}
    different = {key: pair for key, pair in decided.items() if pair[0].verdict != pair[1]}
    print(
        f"  agreement on {len(full)}: {len(decided) - len(different)} equal, {len(different)} different, "
        f"{len(full) - len(decided)} unknown to the pre-filter"
    )
    for key, (mutant, seen) in different.items():
        where = chosen[key]
        print(
            f"    {where.operator} {where.path}:{where.line}: {mutant.verdict} by {mutant.tests} tests, whole: {seen}"
        )
    for reason, count in Counter(m.reason for m in judged.mutants.values() if m.reason).most_common(8):
        print(f"    {count} x {reason}")


if __name__ == "__main__":
    main()
