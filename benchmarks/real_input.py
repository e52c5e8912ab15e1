"""The whole chain on real sdists: admitted share, outcomes, solve rates, beside a control and hand-written bugs.

    python -m benchmarks.real_input [--candidates 40] [--attempts 3] [--seed 0] [--work DIR] [--projects toolz==1.2.0]

Downloads each sdist with pip, then runs the commands a user would type, reads their `--json` and the stored
trajectories, and prints the tables. The control is the same agent with its ranking of places shuffled, one attempt per
task. The hand-written bugs of `benchmarks/handwritten_bugs` are tasks of the same projects, made by source `folder`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.handwritten_bugs import apply_bug, load_bugs
from redtogreen.inputs import load_trajectories
from redtogreen.records import Trajectory, views
from redtogreen.tasks.files import join_tasks

PROJECTS = ["toolz==1.2.0", "boltons==26.2.0", "tomlkit==0.15.2"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("runs/real-input"))
    parser.add_argument("--projects", nargs="+", default=PROJECTS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    Measurement(options).run()


class Measurement:
    """One run over all projects; every stage is resumed when the command is typed again."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.work: Path = options.work
        self.seconds: dict[tuple[str, str], float] = {}

    def run(self) -> None:
        admissions, runs = {}, {}
        sdists = {requirement.split("==")[0]: self.download(requirement) for requirement in self.options.projects}
        for project, sdist in sdists.items():
            admissions[project] = self.admit(project, sdist)
            runs[project, "repair"] = self.collect(project, f"{project}.admitted.jsonl", "repair", [])
        for project, sdist in sdists.items():
            if (handwritten := self.handwritten(project, sdist)) is not None:
                runs[project, "handwritten"] = self.collect(project, handwritten, "handwritten", [])
        for project in sdists:
            shuffled = ["--option", "shuffle_places=yes"]
            admitted = f"{project}.admitted.jsonl"
            runs[project, "control"] = self.collect(project, admitted, "control", shuffled, attempts=1)
        self.print_admissions(admissions)
        self.print_outcomes(runs)
        self.print_operators(runs)
        self.print_dataset(runs)

    def download(self, requirement: str) -> Path:
        folder = self.work / "sdists"
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", requirement]
        name = requirement.replace("==", "-")
        if not list(folder.glob(f"{name}.tar.gz")):
            subprocess.run([*command, "-d", str(folder)], check=True)
        return next(folder.glob(f"{name}.tar.gz"))

    def redtogreen(self, stage: tuple[str, str], *arguments: str) -> dict[str, Any]:
        """Run one command with --json; its report, kept in the work folder beside the seconds it took."""
        kept = self.work / f"{'-'.join(stage)}.report.json"
        if kept.exists():
            report = json.loads(kept.read_text())
            self.seconds[stage] = report["_seconds"]
            return report
        started = time.monotonic()
        command = [sys.executable, "-m", "redtogreen.cli.main", *arguments, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
        report = json.loads(done.stdout)
        report["_seconds"] = self.seconds[stage] = time.monotonic() - started
        kept.write_text(json.dumps(report, indent=1))
        return report

    def admit(self, project: str, sdist: Path) -> dict[str, Any]:
        candidates, admitted = self.work / f"{project}.jsonl", self.work / f"{project}.admitted.jsonl"
        count, seed = str(self.options.candidates), str(self.options.seed)
        make = ["tasks", "make", "mutate", str(sdist), "--candidates", count, "--seed", seed, "--out", str(candidates)]
        made = self.redtogreen((project, "make"), *make)
        report = self.redtogreen((project, "admit"), "tasks", "admit", str(candidates), "--out", str(admitted))
        return {**report, "made": made["written"]}

    def collect(self, project: str, tasks: str, kind: str, extra: list[str], attempts: int | None = None) -> Path:
        out = self.work / f"{project}.{kind}"
        count, seed = str(attempts or self.options.attempts), str(self.options.seed)
        how = ["--agent", "repair", "--attempts", count, "--seed", seed, *extra, "--out", str(out)]
        self.redtogreen((project, kind), "collect", str(self.work / tasks), *how)
        return out

    def handwritten(self, project: str, sdist: Path) -> str | None:
        """One admitted tasks file of the hand-written bugs of a project; None when it has none."""
        bugs = [bug for bug in load_bugs() if bug.project == project]
        if not bugs:
            return None
        original = self.work / "handwritten" / project / "reference"
        if not original.exists():
            with tarfile.open(sdist) as archive:
                archive.extractall(original.parent, filter="data")
            (original.parent / sdist.name.removesuffix(".tar.gz")).rename(original)
        made = []
        tests = [name for name in ("tests", f"{project}/tests") if (original / name).exists()]
        where = [argument for name in tests for argument in ("--tests", name)]
        for bug in bugs:
            broken = original.parent / bug.name
            if not broken.exists():
                shutil.copytree(original, broken)
                apply_bug(bug, broken)
            out = self.work / "handwritten" / f"{bug.name}.jsonl"
            arguments = ["tasks", "make", "folder", str(broken), *where, "--reference", str(original)]
            self.redtogreen((project, f"make-{bug.name}"), *arguments, "--out", str(out))
            made.append(out)
        together = self.work / f"{project}.handwritten.candidates.jsonl"
        if not together.exists():
            join_tasks(made, together)
        admitted = self.work / f"{project}.handwritten.jsonl"
        self.redtogreen((project, "admit-handwritten"), "tasks", "admit", str(together), "--out", str(admitted))
        return admitted.name

    def print_admissions(self, admissions: dict[str, dict[str, Any]]) -> None:
        rows, total, admitted = [], 0, 0
        for project, report in admissions.items():
            total, admitted = total + report["made"], admitted + report["admitted"]
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(report["dropped"].items()))
            seconds = self.seconds[project, "make"] + self.seconds[project, "admit"]
            share = f"{report['admitted'] / report['made']:.0%}"
            rows.append([project, report["made"], report["admitted"], share, reasons, f"{seconds:.0f}"])
        rows.append(["all", total, admitted, f"{admitted / total:.0%}", "", ""])
        table("Admission", ["project", "candidates", "admitted", "share", "dropped", "seconds"], rows)

    def print_outcomes(self, runs: dict[tuple[str, str], Path]) -> None:
        rows = []
        sums: dict[str, Counter] = defaultdict(Counter)
        for (project, kind), run in runs.items():
            figures = figures_of(list(load_trajectories(run)))
            sums[kind].update(figures)
            rows.append([project, kind, *cells(figures), f"{self.seconds[project, kind]:.0f}"])
        rows += [["all", kind, *cells(figures), ""] for kind, figures in sums.items()]
        head = ["project", "agent", "tasks", "solved once", "attempts", "solved", "failed", "other", "recovered"]
        table("Attempts", [*head, "seconds"], rows)
        print("solved once: tasks solved by at least one attempt.  recovered: attempts solved after a test run that")
        print("failed and that followed an edit.  control: the same agent, its ranking of places shuffled.\n")

    def print_operators(self, runs: dict[tuple[str, str], Path]) -> None:
        solved: dict[str, dict[str, bool]] = defaultdict(dict)
        for (_project, kind), run in runs.items():
            if kind == "repair":
                for row in load_trajectories(run):
                    operator = row.task_id.split("/")[1]
                    solved[operator][row.task_id] = solved[operator].get(row.task_id, False) or row.outcome == "solved"
        rows = [
            [operator, len(tasks), sum(tasks.values()), f"{sum(tasks.values()) / len(tasks):.0%}"]
            for operator, tasks in sorted(solved.items())
        ]
        table("Solve rate by operator", ["operator", "tasks", "solved once", "share"], rows)

    def print_dataset(self, runs: dict[tuple[str, str], Path]) -> None:
        rows = []
        for (project, kind), run in runs.items():
            if kind != "repair":
                continue
            cleaned = self.work / f"{project}.cleaned"
            self.redtogreen((project, "score"), "score", str(run), "--recipe", "default")
            clean = self.redtogreen((project, "clean"), "clean", str(run), "--recipe", "default", "--out", str(cleaned))
            kept = [json.loads(line) for line in (cleaned / "kept.jsonl").open()]
            failed = sum(row["outcome"] == "failed" for row in kept)
            built = ["dataset", "build", str(cleaned), "--name", project, "--datasets", str(self.work / "datasets")]
            report = self.redtogreen((project, "build"), *built)
            count = sum(report["rows"].values())
            rows.append([project, clean["total"], clean["kept"], failed, count, report["version"], report["hash"][:19]])
        head = ["project", "rows", "kept", "kept failed", "dataset rows", "version", "hash"]
        table("Dataset", head, rows)


def figures_of(rows: list[Trajectory]) -> Counter:
    """Counts over the attempts of one run."""
    solved_tasks = {row.task_id for row in rows if row.outcome == "solved"}
    return Counter(
        tasks=len({row.task_id for row in rows}),
        solved_tasks=len(solved_tasks),
        attempts=len(rows),
        solved=sum(row.outcome == "solved" for row in rows),
        failed=sum(row.outcome == "failed" for row in rows),
        other=sum(row.outcome not in ("solved", "failed") for row in rows),
        recovered=sum(recovered(row) for row in rows),
    )


def recovered(row: Trajectory) -> bool:
    """Whether an attempt was solved after a failing test run that followed an edit."""
    edited = False
    for step in row.trajectory:
        edited = edited or views.applied(step)
        if edited and views.is_test_run(step) and (step.feedback.failed or 0) > 0:
            return row.outcome == "solved"
    return False


def cells(figures: Counter) -> list[str]:
    share = f"{figures['solved_tasks']} ({figures['solved_tasks'] / max(figures['tasks'], 1):.0%})"
    rest = ("attempts", "solved", "failed", "other", "recovered")
    return [str(figures["tasks"]), share, *(str(figures[name]) for name in rest)]


def table(title: str, head: list[str], rows: list[list[Any]]) -> None:
    texts = [head, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    print(title)
    for row in texts:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


if __name__ == "__main__":
    main()
