"""Which twins the reference really fails: found out once per solved tree, kept in the cache folder."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import zstandard

from redtogreen import __version__
from redtogreen.execution.environments import Environment, open_workspace
from redtogreen.execution.sandboxes.contract import Changes, FileChange, Limits
from redtogreen.execution.testruns import TestResult, collect_tests, run_tests
from redtogreen.execution.trees import Tree, checkout, save_tree
from redtogreen.grading.twins.composing import Composed, TestFile, compose
from redtogreen.grading.twins.flips import RANKS, Kind
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import BlobStore, home, write_atomic

_FORMAT = 12
_REMEDIES = (
    (False, False, False),
    (True, False, False),
    (False, True, False),
    (False, False, True),
    (True, False, True),
)
"""What is tried until no test is spoilt that passes by itself; spoilt ones have no twin from the second try on.

A twin is made only of what a test ends with (what fails earlier may not have cleaned up); spoilt tests keep their names
(other code may ask for them); files with spoilt tests are left as they are.
"""


class ProvenTwin(msgspec.Struct, frozen=True):
    """A flip that makes tests fail which pass with the reference."""

    number: int
    """Of the flip, in the function."""
    kind: Kind
    instances: list[tuple[str, str]]
    """(classes, parameters) of the twin's test ids that failed: `Class` or empty, `[a-1]` or empty."""


class ProvenFile(msgspec.Struct, frozen=True):
    """A test file's twins."""

    twins: dict[str, list[ProvenTwin]]
    """Key of a function -> what can be made of it."""
    renamed: list[str]
    """`Class::test[parameters]` of those that pass under another name; the others keep theirs, and have no twin."""
    kept: list[str] = []
    """Of those that pass under their own."""


class ProvenTwins(msgspec.Struct, frozen=True):
    """The twins of a solved tree."""

    files: dict[str, ProvenFile]
    """By path."""


def prove_twins(
    tree: Tree, paths: list[str], environment: Environment, store: BlobStore, limits: Limits
) -> ProvenTwins:
    """Try every flip of the tests in these files of a solved tree. Raises SandboxError when the machine fails.

    limits: of the runs it takes; `seconds` of each.
    """
    key = digest(canonical_json([tree.hash, sorted(paths), environment.hash, __version__, _FORMAT]))
    file = home() / "twins" / f"{key[7:39]}.zst"
    if file.exists():
        try:
            return msgspec.msgpack.decode(zstandard.decompress(file.read_bytes()), type=ProvenTwins)
        except (zstandard.ZstdError, msgspec.MsgspecError):
            pass  # damaged: found out and written again
    proven = _prove(tree, paths, environment, store, limits)
    write_atomic(file, zstandard.compress(msgspec.msgpack.encode(proven)))
    return proven


def read_test_files(tree: Tree, paths: list[str], store: BlobStore) -> dict[str, TestFile]:
    """Those of the files that can be read as Python."""
    found = {}
    for path in paths:
        entry = tree.entries.get(path)
        if entry is None or entry.mode == "link" or not path.endswith(".py"):
            continue
        try:
            found[path] = TestFile(store.get(entry.name))
        except (SyntaxError, ValueError, RecursionError):
            continue  # in another language, or of another version: it has no twins
    return found


def _prove(tree: Tree, paths: list[str], environment: Environment, store: BlobStore, limits: Limits) -> ProvenTwins:
    """One twin per test, as a grading run has them. See `_REMEDIES` for tests that pass by themselves and not so."""
    files = read_test_files(tree, paths, store)
    lower = checkout(save_tree(tree, store), store)

    def run(composed: dict[str, Composed]) -> dict[str, TestResult]:
        changes: Changes = {path: FileChange("file", one.content) for path, one in composed.items()}
        with open_workspace(environment, lower, changes=changes, limits=limits) as sandbox:
            there = [test for test in collect_tests(sandbox, seconds=limits.seconds).tests if _file(test) in files]
            return run_tests(sandbox, there, seconds=limits.seconds, brief=True).tests

    passing = {test for test, result in run({}).items() if result.status == "passed"}
    seed = random.Random(tree.hash)
    every = {
        path: compose(file, {key: range(len(one.flips)) for key, one in file.functions.items()}, seed)
        for path, file in files.items()
    }
    results = run(every)
    known = {path: _proven(path, file, every[path], results).twins for path, file in files.items()}
    spoilt: set[tuple[str, str]] = set()
    for last, keep_names, keep_files in _REMEDIES:
        chosen: dict[str, dict[str, list[int]]] = {}
        for path, file in files.items():
            bad = {key for where, key in spoilt if where == path}
            keys = file.functions.keys() - (bad if keep_names else set())
            flips = {key: [] if key in bad else _best(file, key, known[path], last) for key in keys}
            chosen[path] = {} if bad and keep_files else flips
        proven = _in_both_orders(files, chosen, run, seed)
        more = _spoilt(passing, files, proven)
        if not more:
            return ProvenTwins(proven)
        spoilt |= more
    return ProvenTwins({})  # one file spoils another


def _best(file: TestFile, key: str, known: dict[str, list[ProvenTwin]], last: bool) -> list[int]:
    """The flip to make the twin of, strong ones first; last: only of what the test ends with."""
    flips = file.functions[key].flips
    found = [twin for twin in known.get(key, []) if flips[twin.number].last or not last]
    found.sort(key=lambda twin: RANKS[twin.kind])
    return [twin.number for twin in found[:1]]


def _in_both_orders(
    files: dict[str, TestFile],
    chosen: dict[str, dict[str, list[int]]],
    run: Callable[[dict[str, Composed]], dict[str, TestResult]],
    seed: random.Random,
) -> dict[str, ProvenFile]:
    """A grading run has an original before or after its twin, and the first may leave something behind."""
    orders: list[dict[str, ProvenFile]] = []
    for original_at in (0, -1):
        composed = {path: compose(one, chosen[path], seed, original_at=original_at) for path, one in files.items()}
        results = run(composed)
        orders.append({path: _proven(path, files[path], composed[path], results) for path in files})
    return {path: _both(orders[0][path], orders[1][path]) for path in files}


def _spoilt(passing: set[str], files: dict[str, TestFile], proven: dict[str, ProvenFile]) -> set[tuple[str, str]]:
    """(path, key) of the functions behind tests that pass by themselves, but not among twins."""
    fine = {f"{path}::{test}" for path, one in proven.items() for test in (*one.renamed, *one.kept)}
    found = set()
    for test in passing - fine:
        path, _, rest = test.partition("::")
        key = files[path].locate(rest)
        if key is not None:
            found.add((path, key))
    return found


def _proven(path: str, file: TestFile, composed: Composed, results: dict[str, TestResult]) -> ProvenFile:
    by_name: dict[str, list[tuple[str, str, TestResult]]] = {}
    for test, result in results.items():
        if _file(test) == path:
            before, bracket, parameters = test.partition("::")[2].partition("[")
            scope, _, name = before.rpartition("::")
            by_name.setdefault(name, []).append((scope, bracket + parameters, result))
    twins: dict[str, list[ProvenTwin]] = {}
    renamed: list[str] = []
    for key, name in composed.names.items():
        function = file.functions[key]
        passed = {(scope, suffix) for scope, suffix, result in by_name.get(name, []) if result.status == "passed"}
        renamed += [f"{scope}::{function.name}{suffix}".removeprefix("::") for scope, suffix in sorted(passed)]
        for number, twin in composed.twins.get(key, {}).items():
            kind = function.flips[number].kind
            failed = [
                (scope, suffix)
                for scope, suffix, result in by_name.get(twin, [])
                if _as_it_should(result, kind) and (kind == "parametrisation" or (scope, suffix) in passed)
            ]
            if failed and passed:
                twins.setdefault(key, []).append(ProvenTwin(number, kind, failed))
    others = {function.name for key, function in file.functions.items() if key not in composed.names}
    kept = [
        f"{scope}::{name}{suffix}".removeprefix("::")
        for name in sorted(others)
        for scope, suffix, result in by_name.get(name, [])
        if result.status == "passed"
    ]
    return ProvenFile(twins, renamed, kept)


def _both(one: ProvenFile, other: ProvenFile) -> ProvenFile:
    """What is proven in either order."""
    twins: dict[str, list[ProvenTwin]] = {}
    for key, found in one.twins.items():
        again = {twin.number: twin.instances for twin in other.twins.get(key, [])}
        for twin in found:
            instances = [instance for instance in twin.instances if instance in again.get(twin.number, [])]
            if instances:
                twins.setdefault(key, []).append(ProvenTwin(twin.number, twin.kind, instances))
    both = [
        sorted(set(first) & set(second)) for first, second in ((one.renamed, other.renamed), (one.kept, other.kept))
    ]
    return ProvenFile(twins, *both)


def _as_it_should(result: TestResult, kind: Kind) -> bool:
    """Failed for what was flipped: by its assertion, or by the exception that nobody waited for any more."""
    return (
        result.status == "failed"
        and result.stage == "call"
        and (kind == "raises" or result.exception in ("AssertionError", "Failed"))
    )


def _file(test: str) -> str:
    return test.partition("::")[0]
