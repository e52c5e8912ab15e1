"""Source files worth reading first: what the failing test files import, not where the bug is."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

MIN_FILES = 3
MAX_FILES = 20


def relevant_files(tests: Mapping[str, bytes], sources: Mapping[str, bytes], roots: Iterable[str]) -> list[str]:
    """Sorted paths of project files the test files import, directly or through a package's `__init__.py`.

    `tests` and `sources` map paths to contents; `roots` are the project's import roots (`.`, `src`). Filled up to three
    where the project has them: first with what the found files import, then with the largest files.
    """
    modules = _modules(sources, roots)
    found: list[str] = []
    for path in sorted(tests):
        _add(found, _imports(path, tests[path], modules, roots))
    for path in [path for path in found if path.endswith("__init__.py")]:
        _add(found, _imports(path, sources[path], modules, roots))
    for path in list(found):
        if len(found) >= MIN_FILES:
            break
        _add(found, _imports(path, sources[path], modules, roots))
    if len(found) < MIN_FILES:
        _add(found, sorted(sources, key=lambda path: (-len(sources[path]), path)))
        found = found[:MIN_FILES]
    return sorted(found[:MAX_FILES])


def _add(found: list[str], more: Iterable[str]) -> None:
    found.extend(path for path in dict.fromkeys(more) if path not in found)


def _modules(sources: Iterable[str], roots: Iterable[str]) -> dict[str, str]:
    """Dotted module name -> path, for every import root."""
    modules: dict[str, str] = {}
    for root in roots:
        prefix = "" if root in (".", "") else root.rstrip("/") + "/"
        for path in sources:
            if path.startswith(prefix):
                dotted = path[len(prefix) :].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                modules.setdefault(dotted, path)
    return modules


def _imports(path: str, content: bytes, modules: Mapping[str, str], roots: Iterable[str]) -> list[str]:
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return []
    here = next((dotted for dotted, known in modules.items() if known == path), "")
    package = here.split(".") if path.endswith("__init__.py") else here.split(".")[:-1]
    names: list[str] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{start}.{alias.name}".lstrip(".") for alias in node.names] + [start]
    return [modules[name] for name in names if name in modules]
