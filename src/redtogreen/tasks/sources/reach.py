"""How likely the tests notice a change at some place, told from names alone: nothing is run.

A function counts as reached when a test file names it, or when a function that a test file names uses it, and its file
is imported by the tests, directly or through other files. Places that usual test runs do not enter (error messages,
fallbacks for other platforms, command lines) weigh little.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from redtogreen.mutation import Mutation

DIRECT, CALLED, CALLED_TWICE, PUBLIC, PRIVATE, HARDLY = 1.0, 0.7, 0.3, 0.1, 0.05, 0.01
_HARDLY_NAMES = re.compile(
    r"(?i)^(__repr__|__str__|__del__|__sizeof__|main|_main|usage|debug.*|_debug.*|.*deprecat.*|.*_compat)$"
)
_HARDLY_FILES = re.compile(r"(?i)(^|/)(__main__|cli|_cli|.*compat|.*compatibility|.*deprecated|debug.*|ecoutils)\.py$")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class _Source:
    uses: dict[str, set[str]] = field(default_factory=dict)
    """Qualified function -> identifiers in its body."""
    quiet: set[int] = field(default_factory=set)
    """Lines that usual runs do not enter or whose effect is not looked at."""


class Reach:
    """Weights in [0, 1] for the mutations of one project.

    `tests` and `sources` map paths to the bytes of Python files; files that do not parse count as text without names.
    """

    def __init__(self, tests: Mapping[str, bytes], sources: Mapping[str, bytes]):
        self.named = set().union(*(_identifiers(content) for content in tests.values()))
        self.sources = {path: _read(content) for path, content in sources.items()}
        self.imported = _imported(tests.values(), sources)
        first = self._used_by(lambda qualname: self._is_named(qualname))
        second = self._used_by(lambda qualname: qualname.rpartition(".")[2] in first)
        self.called, self.called_twice = first, second

    def _used_by(self, chosen: Callable[[str], bool]) -> set[str]:
        found: set[str] = set()
        for source in self.sources.values():
            for qualname, uses in source.uses.items():
                if chosen(qualname):
                    found |= uses
        return found

    def _is_named(self, qualname: str) -> bool:
        """A function by its name; a method also needs its class named; a special method needs only its class."""
        parts = [part for part in qualname.split(".") if part != "<locals>"]
        name, owners = parts[-1], parts[:-1]
        if name.startswith("__") and name.endswith("__"):
            return bool(owners) and owners[-1] in self.named
        return name in self.named and (not owners or owners[0] in self.named)

    def __call__(self, mutation: Mutation) -> float:
        source = self.sources.get(mutation.path, _Source())
        name = mutation.function.rpartition(".")[2]
        if mutation.path not in self.imported or _HARDLY_NAMES.match(name) or _HARDLY_FILES.search(mutation.path):
            return HARDLY
        if self._is_named(mutation.function):
            weight = DIRECT
        elif "<locals>" in mutation.function and self._is_named(mutation.function.split(".<locals>")[0]):
            weight = 0.9
        elif name in self.called:
            weight = CALLED
        elif name in self.named or name in self.called_twice:
            weight = CALLED_TWICE
        else:
            weight = PRIVATE if name.startswith("_") else PUBLIC
        return max(HARDLY, weight * 0.1) if mutation.line in source.quiet else weight


def _identifiers(content: bytes) -> set[str]:
    """Names, attributes, imported modules and names, keyword arguments of a Python file."""
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.update(_WORD.findall(node.name))
    return found


def _imported(tests: Iterable[bytes], sources: Mapping[str, bytes]) -> set[str]:
    """Source files whose module name stands in an import statement of a test, or of a file found that way."""
    stems = {path: path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2] for path in sources}
    waiting = list(tests)
    found: set[str] = set()
    while waiting:
        words = _import_words(waiting.pop())
        for path in [path for path, stem in stems.items() if stem in words and path not in found]:
            found.add(path)
            waiting.append(sources[path])
    return found


def _import_words(content: bytes) -> set[str]:
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    words: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            words.update(_WORD.findall(node.module or ""))
        if isinstance(node, ast.Import | ast.ImportFrom):
            words.update(word for alias in node.names for word in _WORD.findall(alias.name))
    return words


def _read(content: bytes) -> _Source:
    source = _Source()
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return source
    for qualname, function in _functions(module.body, ""):
        names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
        source.uses[qualname] = names
    for node in ast.walk(module):
        for quiet in _quiet(node):
            source.quiet.update(range(quiet.lineno, (quiet.end_lineno or quiet.lineno) + 1))
    return source


def _functions(suite: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for statement in suite:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{prefix}{statement.name}.")
        elif isinstance(statement, ast.If | ast.Try):
            yield from _functions(statement.body, prefix)
            yield from _functions(statement.orelse, prefix)


def _quiet(node: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    if isinstance(node, ast.Raise):
        yield node
    elif isinstance(node, ast.ExceptHandler):
        caught = ast.unparse(node.type) if node.type else ""
        if "ImportError" in caught or "ModuleNotFoundError" in caught:
            yield from node.body
    elif isinstance(node, ast.If):
        test = ast.unparse(node.test)
        if re.search(
            r"TYPE_CHECKING|__name__|\bplatform\b|\bos\.name\b|version_info|\bPY[23]|\bIS_\w+|\bdebug\b|\bverbose\b",
            test,
        ):
            yield from node.body
            yield from node.orelse
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = ast.unparse(node.value.func)
        if re.search(r"(^|\.)(warn|debug|info|warning|log|print)$", called):
            yield node
