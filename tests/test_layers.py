"""The shape of the code: wings import only earlier ones, folders match the documented tree, files stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "redtogreen"
WINGS = [
    "records",
    "scanning",
    "mutation",
    "execution",
    "grading",
    "tasks",
    "trajectories",
    "rewards",
    "redteam",
    "data",
    "insight",
    "cli",
]
SHARED = {"errors", "store", "registry", "config", "protocols", "pipeline", "inputs", "chain", "testing", "__init__"}
FOLDERS = {
    "execution": {"sandboxes", "environments", "testruns", "executors", "inside"},
    "tasks": {"sources", "admission"},
    "trajectories": {"recording", "agents", "collection", "formats"},
    "rewards": {"recipes", "learned", "preferences"},
    "data": {"cleaning", "datasets", "exports"},
    "insight": {"health", "report", "viewer"},
}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def imported(path: Path) -> set[str]:
    """Full names of the redtogreen modules a file imports, wherever the statement stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                package = ("redtogreen", *path.relative_to(PACKAGE).parts[: -node.level])
                module = ".".join((*package, module)).rstrip(".")
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "redtogreen"}


def wing(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_wing_never_imports_a_later_one(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in WINGS:
        later = {name for name in imported(path) if wing(name) in WINGS[WINGS.index(own) + 1 :]}
        if own != "cli":
            later |= {name for name in imported(path) if wing(name) in ("pipeline", "inputs", "chain", "testing")}
        assert not later, f"{own} may not import {sorted(later)}"
    elif own not in ("pipeline", "inputs", "chain", "testing", "__init__"):
        assert own in SHARED, f"{own} is neither a wing nor a shared module"
        assert all(wing(name) in {"records", "errors", *SHARED} for name in imported(path))


def test_records_and_errors_import_nothing_of_ours() -> None:
    for path in FILES:
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own in ("records", "errors"):
            assert {wing(name) for name in imported(path)} <= {"records", "errors"}, path


def test_sandboxes_use_the_standard_library_only() -> None:
    """They run under interpreters that have none of our dependencies."""
    for path in (PACKAGE / "execution" / "sandboxes").rglob("*.py"):
        for name in imported(path):
            assert name.startswith(("redtogreen.errors", "redtogreen.execution.sandboxes")), f"{path}: {name}"


def test_agents_know_neither_mutation_nor_tasks() -> None:
    """An agent that knew how code was broken would make trajectories that teach nothing."""
    for path in (PACKAGE / "trajectories" / "agents").rglob("*.py"):
        assert not {name for name in imported(path) if wing(name) in ("mutation", "tasks")}, path


def test_only_execution_and_the_terminal_start_processes() -> None:
    for path in FILES:
        parts = path.relative_to(PACKAGE).parts
        if parts[0] == "execution" or parts[-1] == "terminal.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"subprocess", "multiprocessing", "ctypes"} & {name.split(".")[0] for name in names}, path


def test_folders_match_the_documented_tree() -> None:
    for folder in (path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert folder.name in WINGS, f"{folder.name} is not in the tree"
        inside = {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}
        if folder.name in FOLDERS:
            assert inside <= FOLDERS[folder.name] or folder.name == "execution", inside


def test_no_folder_is_empty() -> None:
    for folder in PACKAGE.rglob("*"):
        if folder.is_dir() and folder.name != "__pycache__":
            assert any(path.is_file() for path in folder.rglob("*")), f"{folder} is empty"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_file_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


def test_protocols_fit_on_one_page() -> None:
    assert len((PACKAGE / "protocols.py").read_text().splitlines()) <= 250
