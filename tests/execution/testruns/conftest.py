"""A small project in a real sandbox; one environment serves all tests of this folder."""

from __future__ import annotations

import contextlib
import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redtogreen.execution.environments import Environment, open_workspace
from redtogreen.execution.environments.distributions import base_versions
from redtogreen.execution.environments.environment import environment_of
from redtogreen.execution.environments.specification import Specification, this_python
from redtogreen.execution.sandboxes import Changes, FileChange, Limits, Sandbox
from redtogreen.execution.testruns import TestRun, run_tests
from redtogreen.execution.trees import checkout, save_tree, scan_folder
from redtogreen.store import BlobStore


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches of these tests lie in the session's temporary folder."""
    with pytest.MonkeyPatch.context() as patch:
        if "REDTOGREEN_HOME" not in os.environ:
            patch.setenv("REDTOGREEN_HOME", str(tmp_path_factory.getbasetemp() / "home"))
        yield


@pytest.fixture(scope="session")
def environment_for(own_home: None) -> Callable[[str], Environment]:
    """environment_for(project name): its environment, which depends on nothing but pytest."""

    def build(project: str) -> Environment:
        python, implementation = this_python()
        described = {"name": project, "version": "1.0", "packages": ["sample"], "requires": [], "entry_points": {}}
        return environment_of(Specification(python, implementation, base_versions(), {}, ["src", "."], described))

    return build


@pytest.fixture(scope="session")
def environment(environment_for: Callable[[str], Environment]) -> Environment:
    return environment_for("sample")


@pytest.fixture
def opened(tmp_path: Path, environment: Environment) -> Callable[..., contextlib.AbstractContextManager[Sandbox]]:
    """opened({path: text}, changes={path: text}, limits=...): a sandbox over a project of these files."""

    def open_(files: dict[str, str], changes: dict[str, str] | None = None, limits: Limits | None = None) -> Sandbox:
        folder = tmp_path / "project"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        store = BlobStore(tmp_path / "blobs")
        tree, _ = scan_folder(folder, store)
        changed: Changes = {path: FileChange("file", text.encode()) for path, text in (changes or {}).items()}
        return open_workspace(environment, checkout(save_tree(tree, store), store), changes=changed, limits=limits)

    return open_


@pytest.fixture
def run(opened: Callable[..., contextlib.AbstractContextManager[Sandbox]]) -> Callable[..., TestRun]:
    """run({path: text}, tests=..., coverage=...): one test run of a project of these files."""

    def run_(files: dict[str, str], tests: list[str] | None = None, **options: object) -> TestRun:
        changes, limits = options.pop("changes", None), options.pop("limits", None)
        with opened(files, changes, limits) as sandbox:
            return run_tests(sandbox, tests, **options)

    return run_
