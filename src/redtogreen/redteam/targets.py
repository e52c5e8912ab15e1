"""What an attacker knows of a task that somebody made: read from the task itself, nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from redtogreen.errors import TaskError
from redtogreen.execution.trees import Tree, load_tree
from redtogreen.grading import is_protected
from redtogreen.records import Task
from redtogreen.redteam.attack import Target
from redtogreen.store import BlobStore


class _Project(msgspec.Struct):
    """The part of a project's description that is needed here."""

    import_roots: list[str] = []


def target_of(task: Task, store: BlobStore) -> Target:
    """The target a task makes: the first function that its reference changes, in the first source file it changes.

    Raises TaskError for a task without a reference, or whose reference changes no function.
    """
    if task.reference is None:
        raise TaskError(f"task {task.task_id} has no reference that says what is broken")
    start = load_tree(task.start_state.tree or "", store)
    solved = load_tree(task.reference.tree, store)
    roots = _roots(task, store)
    files = dict(_texts(start, store))
    for path, text in files.items():
        if not path.endswith(".py") or is_protected(task, path) or start.entries[path] == solved.entries.get(path):
            continue
        after = store.get(solved.entries[path].name).decode() if path in solved.entries else ""
        function = _changed_function(text, after)
        if function is None:
            continue
        return Target(
            shape="own",
            files=files,
            source=path,
            function=function,
            module=_module(path, roots),
            test_files=sorted({test.split("::", 1)[0] for test in task.tests.visible} & files.keys()),
            failing=[test for test in task.tests.f2p if test in set(task.tests.visible)],
            facts={},
        )
    raise TaskError(f"the reference of task {task.task_id} changes no function that is there at the start")


def _texts(tree: Tree, store: BlobStore) -> Iterator[tuple[str, str]]:
    for path, entry in tree.entries.items():
        if entry.mode != "link":
            try:
                yield path, store.get(entry.name).decode()
            except UnicodeDecodeError:
                continue  # no attack edits a binary file


def _roots(task: Task, store: BlobStore) -> list[str]:
    described = task.extra.get("project")
    if not isinstance(described, str) or not store.has(described):
        return ["src", ""]
    return msgspec.json.decode(store.get(described), type=_Project).import_roots


def _module(path: str, roots: list[str]) -> str:
    inside = [root.strip("./") for root in roots]
    root = max((root for root in inside if root and path.startswith(root + "/")), key=len, default="")
    name = path.removeprefix(root).strip("/").removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".")


def _changed_function(before: str, after: str) -> str | None:
    """The first function, as `name` or `Class.name`, that is not the same afterwards."""
    try:
        old, new = dict(_functions(before)), dict(_functions(after))
    except SyntaxError:
        return None
    return next((name for name, code in old.items() if new.get(name) != code), None)


def _functions(text: str) -> Iterator[tuple[str, str]]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, ast.dump(node)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{inner.name}", ast.dump(inner)
