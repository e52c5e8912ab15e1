"""A test file with twins in it: every test under a random name, each twin beside its original, before or after it."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redtogreen.grading.twins.flips import OTHER, Flip, Source, TestFunction, find_functions
from redtogreen.grading.twins.values import OTHER_SOURCE


class TestFile:
    """What is known of a test file from its source."""

    __test__ = False  # pytest would take the name for a test class

    def __init__(self, content: bytes):
        """Raises SyntaxError, ValueError or RecursionError for what is no Python."""
        self.content = content
        found = find_functions(content)
        count = Counter(function.key for function in found)
        self.functions = {function.key: function for function in found if count[function.key] == 1}
        self._bases = dict(_classes(Source(content).tree.body, ""))

    def locate(self, test: str) -> str | None:
        """Key of the function behind `Class::test[parameters]`, which a base class in the same file may hold."""
        scope, _, name = test.partition("[")[0].rpartition("::")
        seen, waiting = set(), [scope]
        while waiting:
            here = waiting.pop(0)
            if here in seen:
                continue
            seen.add(here)
            key = f"{here}::{name}" if here else name
            if key in self.functions:
                return key
            waiting += self._bases.get(here, [])
        return None


def _classes(body: list[ast.stmt], scope: str) -> list[tuple[str, list[str]]]:
    found = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            name = f"{scope}::{node.name}" if scope else node.name
            found += [(name, [base.id for base in node.bases if isinstance(base, ast.Name)])]
            found += _classes(node.body, name)
    return found


@dataclass(frozen=True)
class Composed:
    """A file to run in the place of another."""

    content: bytes
    names: dict[str, str]
    """Key of a function -> its new name."""
    twins: dict[str, dict[int, str]]
    """Key of a function -> number of a flip -> name of the twin."""

    def renamed(self, test: str, key: str) -> str:
        """`Class::test[parameters]` under the function's new name."""
        before, bracket, parameters = test.partition("[")
        scope, colons, name = before.rpartition("::")
        return f"{scope}{colons}{self.names.get(key, name)}{bracket}{parameters}"


def compose(
    file: TestFile,
    chosen: Mapping[str, Sequence[int]],
    seed: random.Random,
    *,
    rename: bool = True,
    original_at: int | None = None,
) -> Composed:
    """Put the twins made by these flips (key of a function -> numbers) into the file; rename the functions named.

    original_at: 0 puts every original before its twins, -1 after them; None: anywhere.
    """
    names: dict[str, str] = {}
    twins: dict[str, dict[int, str]] = {}
    taken: set[str] = set()
    helper = _name(seed, taken, "_")
    parts, end = [], len(file.content)
    for function in sorted((file.functions[key] for key in chosen), key=lambda one: one.start, reverse=True):
        if rename:
            names[function.key] = _name(seed, taken)
        group = [_clone(file.content, function, names.get(function.key, function.name), None, helper)]
        for number in chosen[function.key]:
            name = twins.setdefault(function.key, {})[number] = _name(seed, taken)
            group.append(_clone(file.content, function, name, function.flips[number], helper))
        if original_at is None:
            seed.shuffle(group)
        elif original_at == -1:
            group.append(group.pop(0))
        parts += [file.content[function.end : end], b"\n\n".join(group)]
        end = function.start
    parts.append(file.content[:end])
    content = b"".join(reversed(parts))
    return Composed(content.rstrip(b"\n") + b"\n\n" + OTHER_SOURCE.format(name=helper).encode(), names, twins)


def _clone(content: bytes, function: TestFunction, name: str, flip: Flip | None, helper: str) -> bytes:
    edits = [(function.name_at, function.name_at + len(function.name.encode()), name.encode())]
    edits += [] if flip is None else flip.edits
    text, end = [], function.end
    for start, stop, new in sorted(edits, reverse=True):
        text += [content[stop:end], new.replace(OTHER.encode(), helper.encode())]
        end = start
    return b"".join(reversed([*text, content[function.start : end]]))


def _name(seed: random.Random, taken: set[str], prefix: str = "test_") -> str:
    while True:
        name = prefix + "".join(seed.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(10))
        if name not in taken:
            taken.add(name)
            return name
