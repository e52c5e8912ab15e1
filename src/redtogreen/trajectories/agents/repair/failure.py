"""Reading how a test failed: what was expected, what came instead, and what that hints at."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

_ASSERT = re.compile(r"^(?:AssertionError: )?assert (?P<text>.+)$", re.DOTALL)
_MISSING = object()


@dataclass(frozen=True)
class Failure:
    """One failing test as far as it could be read."""

    test: str
    exception: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()
    """(path, line, function), the innermost last."""
    traceback: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What makes two failures the same one: addresses and durations left out."""
        text = re.sub(r"0x[0-9a-f]+|\d+\.\d+s", "", self.message)
        return self.exception, text[:300]


@dataclass(frozen=True)
class Crash:
    """A place where code, not an assertion of a test, raised."""

    path: str
    line: int
    exception: str
    message: str
    inner: bool = True
    """False: the line only called what raised."""


@dataclass
class Hints:
    """What the failures of a task say about the bug. Weights are natural logarithms added to a template's prior."""

    kinds: set[str] = field(default_factory=set)
    """Any of: none, off_by_one, negated, longer, shorter, order, text, type, amount, value, arguments, attribute, name,
    key, index, endless, not_raised, raised."""
    names: set[str] = field(default_factory=set)
    """Identifiers the messages name."""
    words: set[str] = field(default_factory=set)
    """Words of messages and test sources, lower case."""
    texts: list[tuple[str, str]] = field(default_factory=list)
    """(what came, what was expected) for texts."""
    amounts: list[tuple[float, float]] = field(default_factory=list)
    """(what came, what was expected) for numbers, also inside collections."""
    wanted: set[str] = field(default_factory=set)
    """Type names of the values the tests compared a whole result with."""
    numbers: set[int] = field(default_factory=set)
    """Whole numbers expected by the tests."""
    exceptions: set[str] = field(default_factory=set)
    """Exception types that came or were expected."""
    exceptions_in_tests: set[str] = field(default_factory=set)
    """Exception types the source of the failing tests names."""
    crashes: list[Crash] = field(default_factory=list)
    """Innermost frames of failures that code raised by itself, and their callers, each once."""


def read_failures(observation: dict[str, Any]) -> list[Failure]:
    """The failures in the answer to run_test."""
    found = []
    for each in observation.get("failures", ()):
        frames = tuple((path, line, function) for path, line, function in each.get("frames", ()))
        found.append(
            Failure(each["test"], each.get("exception") or "", each.get("message") or "", frames, each["traceback"])
        )
    return found


def hints_of(failures: list[Failure], source: str = "") -> Hints:
    """What several failures say together; `source`: text of the failing tests."""
    hints = Hints()
    for failure in failures:
        _read_exception(failure, hints)
        if failure.exception == "AssertionError":
            _read_assertion(failure, hints)
        elif failure.frames and "DID NOT RAISE" not in failure.message:
            for path, line, _ in failure.frames[-2:]:
                inner = (path, line) == failure.frames[-1][:2]
                crash = Crash(path, line, failure.exception.rsplit(".", 1)[-1], failure.message[:300], inner)
                if crash not in hints.crashes:
                    hints.crashes.append(crash)
        hints.words |= {word.lower() for word in re.findall(r"[A-Za-z]{3,}", failure.message)}
    for text in [source, *(failure.message for failure in failures)]:
        hints.numbers |= {int(number) for number in re.findall(r"(?<![\w.])-?\d{1,6}(?![\w.])", text)}
    hints.words |= {word.lower() for word in re.findall(r"[A-Za-z]{3,}", source)}
    hints.exceptions_in_tests = set(re.findall(r"\b[A-Z]\w*(?:Error|Exception|Iteration)\b", source))
    hints.exceptions |= hints.exceptions_in_tests
    return hints


def _read_exception(failure: Failure, hints: Hints) -> None:
    name, message = failure.exception.rsplit(".", 1)[-1], failure.message
    if name and name != "AssertionError":
        hints.exceptions.add(name)
    if "DID NOT RAISE" in message or "not raised" in message:
        hints.kinds.add("not_raised")
    kind = {
        "NameError": "name",
        "UnboundLocalError": "name",
        "AttributeError": "attribute",
        "KeyError": "key",
        "IndexError": "index",
        "RecursionError": "endless",
        "StopIteration": "index",
        "ImportError": "name",
        "TimeoutError": "endless",
    }.get(name)
    if kind:
        hints.kinds.add(kind)
    if "NoneType" in message:
        hints.kinds.add("none")
    if name == "TypeError":
        signature = re.search(r"argument|positional|keyword|takes|required", message)
        hints.kinds.add("arguments" if signature else "type")
    if name and name not in ("AssertionError", "Failed"):
        hints.kinds.add("raised")
    hints.names |= set(re.findall(r"'([A-Za-z_]\w*)'", message))


def _read_assertion(failure: Failure, hints: Hints) -> None:
    first = re.split(r"\n\s", failure.message, maxsplit=1)[0]
    found = _ASSERT.match(first.strip())
    try:
        test = ast.parse(found["text"] if found else first.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        hints.kinds.add("value")
        _read_lines(failure.message, hints)
        return
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        came, wanted = _value(test.left), _value(test.comparators[0])
        if came is _MISSING or wanted is _MISSING:
            hints.kinds.add("value")
            _read_lines(failure.message, hints)
        elif isinstance(test.ops[0], ast.Eq | ast.Is):
            compare(came, wanted, hints)
            if wanted is not None:
                hints.wanted.add(type(wanted).__name__)
        else:
            hints.kinds.add("value")
    elif isinstance(test, ast.Constant | ast.UnaryOp | ast.Call | ast.Name):
        hints.kinds |= {"negated", "value"}
        if isinstance(test, ast.Constant) and test.value is None:
            hints.kinds.add("none")


def _read_lines(message: str, hints: Hints) -> None:
    """pytest's `- expected` / `+ came` lines."""
    came = [line.strip()[2:] for line in message.split("\n") if line.strip().startswith("+ ")]
    wanted = [line.strip()[2:] for line in message.split("\n") if line.strip().startswith("- ")]
    for left, right in zip(came, wanted, strict=False):
        hints.texts.append((left, right))
    if re.search(r"assert None|None ==|None is", message):
        hints.kinds.add("none")


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _MISSING


def compare(came: Any, wanted: Any, hints: Hints, depth: int = 0) -> None:
    """Add what the difference between two values suggests."""
    if came is None or wanted is None:
        hints.kinds.add("none")
    elif isinstance(came, bool) or isinstance(wanted, bool):
        hints.kinds.add("negated")
    elif isinstance(came, int | float) and isinstance(wanted, int | float):
        hints.kinds.add("off_by_one" if abs(came - wanted) == 1 else "order" if came == -wanted else "value")
        if came != wanted:
            hints.amounts.append((came, wanted))
            hints.kinds.add("amount")
        if isinstance(wanted, int):
            hints.numbers.add(wanted)
    elif type(came) is not type(wanted):
        hints.kinds.add("type")
    elif isinstance(came, str | bytes):
        hints.kinds.add("text")
        if isinstance(came, str):
            hints.texts.append((came, wanted))
        if len(came) != len(wanted):
            hints.kinds.add("longer" if len(came) > len(wanted) else "shorter")
    elif isinstance(came, list | tuple):
        _compare_sequences(list(came), list(wanted), hints, depth)
    elif isinstance(came, dict):
        for key in came.keys() & wanted.keys():
            if came[key] != wanted[key] and depth < 3:
                compare(came[key], wanted[key], hints, depth + 1)
        if len(came) != len(wanted):
            hints.kinds.add("longer" if len(came) > len(wanted) else "shorter")
    else:
        hints.kinds.add("value")


def _compare_sequences(came: list, wanted: list, hints: Hints, depth: int) -> None:
    if len(came) != len(wanted):
        hints.kinds.add("longer" if len(came) > len(wanted) else "shorter")
        if abs(len(came) - len(wanted)) == 1:
            hints.kinds.add("off_by_one")
        return
    if sorted(map(repr, came)) == sorted(map(repr, wanted)):
        hints.kinds.add("order")
        return
    for left, right in zip(came, wanted, strict=True):
        if left != right and depth < 3:
            compare(left, right, hints, depth + 1)
