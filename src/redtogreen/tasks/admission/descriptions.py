"""What an agent is told, written from what fails and without a model: symptom, test lines, command.

The rule for not naming the place of the bug: the path, file name, dotted module and function name of every changed
source file are taken out of what is shown, unless a failing test's id or a shown test's own lines hold that word: then
the agent reads it anyway. Traceback frames in project sources are left out altogether.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redtogreen.execution.testruns import TestResult
from redtogreen.records.canonical import normalise
from redtogreen.tasks.test_functions import file_of, unit_of

SHOWN, LISTED, LINES = 2, 8, 14
MASK = "..."

_OPENINGS = (
    "{count} that should pass {fail}.",
    "Something is broken: {count} of the suite {fail}.",
    "{count} {fail} although the tests are right.",
    "The project does not do what its tests ask for: {count} {fail}.",
)
_CLOSINGS = (
    "Find the cause in the project's code and repair it there; the tests stay as they are. What passes now must go on "
    "passing.",
    "Repair the code, not the tests, and break nothing else.",
    "Make the failing tests pass by correcting the project's code. The other tests must go on passing.",
)


@dataclass(frozen=True)
class Bug:
    """Where a bug is: what a description must not tell."""

    path: str
    function: str | None = None
    """Qualified name; None when not known."""

    def words(self, roots: Iterable[str]) -> set[str]:
        """Every word that would give the place away."""
        found = {self.path, self.path.rpartition("/")[2]}
        for root in ("", *roots):
            prefix = "" if root in (".", "") else root.rstrip("/") + "/"
            if self.path.startswith(prefix):
                inside = self.path[len(prefix) :]
                found |= {inside, inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")}
        found.discard("__init__.py")
        if self.function:
            parts = [part for part in self.function.split(".") if part != "<locals>"]
            found |= {parts[-1], ".".join(parts)}
        return {word for word in found if word}


def describe(
    failing: Mapping[str, TestResult],
    tests: Mapping[str, bytes],
    bugs: Sequence[Bug],
    roots: Iterable[str],
    salt: str,
) -> str:
    """The description of a task.

    `failing`: visible F2P id -> its result at the start, not empty. `tests`: path -> content of the files that were
    run. `salt` picks among equal wordings. The text is the same for equal arguments.
    """
    ids = list(failing)
    choice = hashlib.sha256(salt.encode()).digest()
    count = "1 test" if len(ids) == 1 else f"{len(ids)} tests"
    opening = _OPENINGS[choice[0] % len(_OPENINGS)].format(count=count, fail="fails" if len(ids) == 1 else "fail")
    parts = [opening]
    shown = _varied(ids)
    said = "\n".join([*ids, *(_function_text(test, tests) for test in shown)])
    secret = [word for bug in bugs for word in bug.words(roots) if not holds(said, word)]
    for test in shown:
        seen = _masked(_excerpt(failing[test], tests), secret)
        parts.append(f"`{test}` {_symptom(failing[test])}:\n\n" + _indent(seen))
    if more := [test for test in ids if test not in shown]:
        listed = "\n".join(f"- `{test}` {_symptom(failing[test])}" for test in more[:LISTED])
        rest = f"\n- and {len(more) - LISTED} more" if len(more) > LISTED else ""
        parts.append(f"Also failing:\n\n{listed}{rest}")
    parts.append(f"To see it:\n\n    {_command(shown)}")
    parts.append(_CLOSINGS[choice[1] % len(_CLOSINGS)])
    return "\n\n".join(parts)


def _masked(text: str, words: Iterable[str]) -> str:
    for word in sorted(words, key=len, reverse=True):
        text = _whole(word).sub(MASK, text)
    return text


def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")


def holds(text: str, word: str) -> bool:
    """Whether a text holds a word, path or dotted name as a whole."""
    return bool(_whole(word).search(text))


def symptom(result: TestResult) -> str:
    """Exception and first line of its message, without addresses and times; equal symptoms look alike."""
    first = result.message.strip().splitlines()
    return normalise(f"{result.exception}: {first[0] if first else ''}")


def _varied(ids: Sequence[str]) -> list[str]:
    """The first tests, one per function where possible."""
    first: dict[str, str] = {}
    for test in ids:
        first.setdefault(unit_of(test), test)
    chosen = list(first.values())[:SHOWN]
    return chosen + [test for test in ids if test not in chosen][: SHOWN - len(chosen)]


def _symptom(result: TestResult) -> str:
    if result.exception is None:
        return "is not collected" if result.status == "absent" else "fails"
    where = {"setup": " while it is set up", "teardown": " while it is torn down"}.get(result.stage, "")
    return f"fails with `{result.exception}`{where}"


def _excerpt(result: TestResult, tests: Mapping[str, bytes]) -> str:
    """The failing lines of the test files, and what came out; nothing of the project's sources."""
    lines: list[str] = []
    left_out = 0
    for frame in result.frames:
        if frame.path not in tests:
            left_out += 1
            continue
        source = tests[frame.path].decode("utf-8", "replace").splitlines()
        code = source[frame.line - 1].strip() if 0 < frame.line <= len(source) else ""
        lines += [f"{frame.path}: in {frame.function}", f"    {code}"]
    if left_out:
        lines.append("    (inside the project)")
    lines += _outcome(result)
    return normalise("\n".join(lines[:LINES]))


def _outcome(result: TestResult) -> list[str]:
    lines = (line.replace(", use -vv to show", "") for line in result.traceback.splitlines())
    marked = [line for line in lines if re.match(r"E\s+\S", line) and not line.endswith("Use -v to get more diff")]
    if not marked:
        head = f"{result.exception}: {result.message}" if result.exception else result.message or "not collected"
        marked = [f"E   {line}" for line in head.splitlines()]
    return [line[:200] for line in marked[:10]]


def _function_text(test: str, tests: Mapping[str, bytes]) -> str:
    """The source lines of a test's own function."""
    path, name = file_of(test), unit_of(test).rpartition("::")[2]
    content = tests.get(path, b"")
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    lines = content.decode("utf-8", "replace").splitlines()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(lines[first - 1 : node.end_lineno])
    return ""


def _command(tests: Sequence[str]) -> str:
    return "python -m pytest " + " ".join(shlex.quote(test) for test in tests)


def _indent(text: str) -> str:
    return "\n".join("    " + line if line else "" for line in text.splitlines())
