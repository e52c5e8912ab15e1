"""The hidden measurement of a workspace after a change: reward tests, files that do not parse, lint.

It runs in a fresh sandbox over the grader's own pinned tree, so it measures what the grader would, and the agent can
neither see nor disturb it. Equal workspaces of a task are measured once: attempts meet again in the same states, and
results are kept in the cache folder, `probes/`.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from pathlib import Path

import msgspec
import zstandard

from redtogreen import __version__
from redtogreen.errors import SandboxError
from redtogreen.execution.environments import Environment, open_workspace
from redtogreen.execution.programs import ISOLATED, PARSE
from redtogreen.execution.sandboxes.contract import Changes, Sandbox
from redtogreen.execution.testruns import run_tests
from redtogreen.execution.trees import Tree, checkout, load_tree, save_tree
from redtogreen.grading.overlay import allowed_changes, grading_tree
from redtogreen.grading.probe_tests import probe_tests
from redtogreen.grading.workspace import load_task_environment, sandbox_limits
from redtogreen.records import Probe, Task
from redtogreen.records.base import SCHEMA
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import BlobStore, home, write_atomic

MAX_FILES = 50
"""Changed files looked at for parse errors and lint."""
MAX_BYTES = 512 * 2**10
"""Larger files are left out of both."""
_CHECK_SECONDS = 20.0
_MEMORY = 4096

_RUFF = ["/env/bin/ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--statistics", "--output-format", "json"]


class Prober:
    """Probes of one worker process. `seconds`: wall clock of one test run, None for ten times what the suite took."""

    def __init__(self, store: BlobStore, *, seconds: float | None = None):
        self.store = store
        self.seconds = seconds
        self._probes: OrderedDict[str, Probe] = OrderedDict()
        self._lint: dict[str, Counter[str]] = {}
        self._parses: dict[str, bool] = {}
        self._open: tuple[Task, Environment, Path, Tree] | None = None

    def start(self, task: Task) -> Probe:
        """The start state; measured once per task."""
        return self.probe(task, {})

    def probe(self, task: Task, changes: Changes) -> Probe:
        """The start state of a task with some changes. Raises SandboxError or another RedToGreenError when the machine
        could not measure; nothing the changes hold raises."""
        kept, _ = allowed_changes(task, changes, self.store) if changes else ({}, [])
        key = _key(task, kept)
        if key not in self._probes:
            self._probes[key] = self._kept(key) or self._measure(task, kept, key)
            while len(self._probes) > _MEMORY:
                self._probes.popitem(last=False)
        self._probes.move_to_end(key)
        return self._probes[key]

    def _kept(self, key: str) -> Probe | None:
        try:
            content = _cached(key).read_bytes()
        except FileNotFoundError:
            return None
        try:
            return msgspec.json.decode(zstandard.ZstdDecompressor().decompress(content), type=Probe)
        except (zstandard.ZstdError, msgspec.DecodeError):
            return None  # damaged, or of another version: measured again and replaced

    def _measure(self, task: Task, kept: Changes, key: str) -> Probe:
        environment, lower, start = self._prepared(task)
        seconds = probe_seconds(task) if self.seconds is None else self.seconds
        tests = probe_tests(task)
        with open_workspace(environment, lower, changes=kept, limits=sandbox_limits(task, seconds)) as sandbox:
            # Before the tests: until then nothing the agent wrote has run in this sandbox.
            files = {
                path: change.content
                for path, change in sorted(kept.items())
                if change.kind == "file" and path.endswith(".py") and len(change.content) <= MAX_BYTES
            }
            files = dict(list(files.items())[:MAX_FILES])
            parse_errors = self._unparsable(sandbox, files)
            lint = sum((self._findings(sandbox, files) - self._findings(sandbox, self._before(start, files))).values())
            run = run_tests(sandbox, tests, seconds=seconds)
        if run.process.verdict == "sandbox":
            raise SandboxError("the sandbox failed during a probe")
        found = Probe(
            tests={test: run.status(test) for test in tests},
            parse_errors=parse_errors,
            lint=lint,
            failure_stage=run.failure_stage,
            exceptions=run.exceptions,
        )
        if run.process.verdict != "timeout":  # a slow moment of the machine must not be remembered
            write_atomic(_cached(key), zstandard.ZstdCompressor().compress(msgspec.json.encode(found)))
        return found

    def _prepared(self, task: Task) -> tuple[Environment, Path, Tree]:
        if self._open is None or self._open[0] != task:
            lower = checkout(save_tree(grading_tree(task, self.store, evaluation=False), self.store), self.store)
            start = load_tree(str(task.start_state.tree), self.store)
            self._open = (task, load_task_environment(task, self.store), lower, start)
        return self._open[1:]

    def _before(self, start: Tree, files: dict[str, bytes]) -> dict[str, bytes]:
        known = {path: start.entries[path] for path in files if path in start.entries}
        return {path: self.store.get(entry.name) for path, entry in known.items() if entry.mode != "link"}

    def _unparsable(self, sandbox: Sandbox, files: dict[str, bytes]) -> int:
        names = {path: digest(content) for path, content in files.items()}
        unknown = [path for path in files if names[path] not in self._parses]
        if unknown:
            result = sandbox.run(
                PARSE,
                stdin=json.dumps(unknown).encode(),
                seconds=_CHECK_SECONDS,
                report=True,
                warm=ISOLATED,
            )
            _check(result.verdict)
            for number, path in enumerate(unknown):
                answer = result.report[number : number + 1]
                # No answer: the compiler itself came to grief on this file, or on one before it.
                self._parses[names[path]] = answer != b"0"
        return sum(self._parses[name] for name in names.values())

    def _findings(self, sandbox: Sandbox, files: dict[str, bytes]) -> Counter[str]:
        total: Counter[str] = Counter()
        for path, content in files.items():
            name = digest(content)
            if name not in self._lint:
                command = [*_RUFF, "--stdin-filename", path, "-"]
                result = sandbox.run(command, stdin=content, seconds=_CHECK_SECONDS)
                _check(result.verdict)
                self._lint[name] = _by_rule(result.stdout.text)
            total += self._lint[name]
        return total


def probe(task: Task, changes: Changes, store: BlobStore) -> Probe:
    """One probe without a memory; see `Prober.probe`."""
    return Prober(store).probe(task, changes)


def probe_seconds(task: Task) -> float:
    """Wall clock of one probe: 10 s and five times what the whole suite took at admission, at most 120 s."""
    measured = task.extra.get("suite_seconds")
    return min(120.0, 10.0 + 5.0 * (measured if isinstance(measured, int | float) else 10.0))


def _by_rule(shown: str) -> Counter[str]:
    """Findings per rule; what does not parse is counted as that, not as lint."""
    try:
        rows = json.loads(shown)
    except ValueError:
        return Counter()
    counts = {str(row["code"]): int(row["count"]) for row in rows if row.get("code") not in (None, "E999")}
    counts.pop("invalid-syntax", None)
    return Counter(counts)


def _check(verdict: str) -> None:
    if verdict == "sandbox":
        raise SandboxError("the sandbox failed during a probe")


def _key(task: Task, kept: Changes) -> str:
    content = {path: [one.kind, digest(one.content), one.executable] for path, one in kept.items()}
    pinned = [task.start_state.tree, task.reference.tree if task.reference else None, task.environment]
    return digest(canonical_json([__version__, SCHEMA, pinned, probe_tests(task), task.protected, content]))


def _cached(key: str) -> Path:
    hexes = key.removeprefix("sha256:")
    return home() / "probes" / hexes[:2] / f"{hexes[2:]}.json.zst"
