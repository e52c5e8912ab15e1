"""Build the environment of a project: what it declares, then what its test files turn out to import."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from redtogreen.errors import EnvironmentUnavailable, SandboxError, TaskError
from redtogreen.execution.environments import distributions, specification, wheels
from redtogreen.execution.environments.environment import Environment, environment_of, open_workspace
from redtogreen.execution.environments.project import Project
from redtogreen.execution.testruns import Collection, collect_tests
from redtogreen.execution.trees import checkout, save_tree, scan_folder
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import BlobStore, home, scratch, write_atomic

ROUNDS = 5
"""Times that modules missing while tests are collected are looked for."""
COLLECT_SECONDS = 180
NAMES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "flask_sqlalchemy": "flask-sqlalchemy",
    "git": "gitpython",
    "google.protobuf": "protobuf",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "lxml_html_clean": "lxml-html-clean",
    "magic": "python-magic",
    "markdown_it": "markdown-it-py",
    "mock": "mock",
    "mpl_toolkits": "matplotlib",
    "nacl": "pynacl",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "pytest_asyncio": "pytest-asyncio",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "usb": "pyusb",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Module -> distribution, where the names differ by more than "-" and "_"."""
_NO_PLUGIN = frozenset(("pytest-xdist", "pytest-cov", "pytest-randomly", "pytest-random-order", "pytest-sugar"))
_MISSING = re.compile(r"No module named '([\w.]+)'")
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments|unrecognised arguments|no such option|expected one argument")


class _Resolved(msgspec.Struct):
    """What an earlier search for the same project came to."""

    spec: str
    notes: list[str]


@dataclass
class _Search:
    """What is known so far."""

    wanted: list[str]
    pinned: dict[str, str] = field(default_factory=dict)
    settings: specification.Pytest = field(default_factory=specification.Pytest)
    notes: list[str] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    resolved: tuple[str, ...] | None = None
    fetched: Path | None = None
    """Folder with everything pinned, below `folder`."""
    folder: Path = field(default_factory=Path)


def build_environment(project: Project) -> Environment:
    """The environment in which the project's tests can be collected; built once, then found again.

    Raises TaskError when the project is part of the test runner itself or its tests cannot be collected,
    EnvironmentUnavailable when a package it declares cannot be had, SandboxError when the sandbox fails.
    """
    base = distributions.base_versions()
    if project.name in base:
        raise TaskError(
            f"{project.name} cannot be used: it is part of the test runner, so its installed copy would be tested"
            " instead and would show the answer",
            "choose another project",
        )
    with scratch() as folder:
        store = BlobStore(folder)
        tree, _ = scan_folder(project.root, store)
        remembered = home() / "environments" / f"resolved-{_key(project, base, tree.hash)}.json"
        if remembered.exists():
            known = msgspec.json.decode(remembered.read_bytes(), type=_Resolved)
            return environment_of(specification.decode(known.spec.encode()), known.notes)
        lower = checkout(save_tree(tree, store), store)
    environment = _search(project, base, lower)
    write_atomic(remembered, msgspec.json.encode(_Resolved(environment.spec.decode(), environment.notes)))
    return environment


def _key(project: Project, base: dict[str, str], tree: str) -> str:
    described = {name: value for name, value in vars(project).items() if name not in ("root", "origin", "notes")}
    return digest(canonical_json([specification.VERSION, *specification.this_python(), base, tree, described]))[7:39]


def _search(project: Project, base: dict[str, str], lower: Path) -> Environment:
    with scratch() as folder:
        return _rounds(project, base, lower, folder)


def _rounds(project: Project, base: dict[str, str], lower: Path, folder: Path) -> Environment:
    declared = [*project.requirements, *project.test_requirements]
    search = _Search(
        [text for text in declared if canonicalize_name(Requirement(text).name) not in base], folder=folder
    )
    search.settings.plugins = _fixed_plugins(project)
    for _ in range(ROUNDS + 1):
        _resolve(project, base, search)
        environment = environment_of(_specification(project, base, search), fetched=search.fetched)
        with open_workspace(environment, lower) as sandbox:
            collection = collect_tests(sandbox, seconds=COLLECT_SECONDS)
        if not _learn(project, base, collection, search):
            _judge(project, collection, search)
            return replace(environment, notes=search.notes)
    raise TaskError(
        f"the tests of {project.name} cannot be collected: after {ROUNDS} rounds still {_last_line(collection)}",
        "list what its tests need under [dependency-groups] test in its pyproject.toml",
    )


def _resolve(project: Project, base: dict[str, str], search: _Search) -> None:
    """Let pip choose versions for what is wanted; keeps the pins and the plugins they bring."""
    if not search.wanted or search.resolved == tuple(search.wanted):
        return
    target = Path(tempfile.mkdtemp(dir=search.folder))
    wheels.install(search.wanted, base, target)
    found = distributions.distributions_in(target)
    if found.pop(canonicalize_name(project.name), None) is not None:
        search.notes.append(f"a requirement brings in {project.name} itself: that copy is left out")
    search.pinned = {name: item.version for name, item in sorted(found.items()) if name not in base}
    plugins = {
        point.value.partition(":")[0].strip()
        for name in search.pinned.keys() - _NO_PLUGIN
        for point in found[name].entry_points
        if point.group == "pytest11"
    }
    search.settings.plugins = sorted(plugins) + _fixed_plugins(project)
    search.resolved, search.fetched = tuple(search.wanted), target


def _fixed_plugins(project: Project) -> list[str]:
    """Plugins of base packages that the project asks for by name, and its own."""
    named = {canonicalize_name(Requirement(text).name) for text in project.requirements + project.test_requirements}
    base = distributions.base_distributions()
    points = [point for name in sorted(named & base.keys()) for point in base[name].entry_points]
    modules = [point.value for point in points if point.group == "pytest11"]
    modules += project.entry_points.get("pytest11", {}).values()
    return sorted({module.partition(":")[0].strip() for module in modules})


def _specification(project: Project, base: dict[str, str], search: _Search) -> specification.Specification:
    python, implementation = specification.this_python()
    return specification.Specification(
        python=python,
        implementation=implementation,
        base=base,
        requirements=search.pinned,
        import_roots=project.import_roots,
        project={
            "name": project.name,
            "version": _version(project),
            "packages": project.packages,
            "requires": project.requirements,
            "entry_points": project.entry_points,
        },
        pytest=msgspec.structs.replace(search.settings),
    )


def _version(project: Project) -> str:
    try:
        return str(Version(project.version or ""))
    except InvalidVersion:
        return "0+unknown"


def _learn(project: Project, base: dict[str, str], collection: Collection, search: _Search) -> bool:
    """Change what is wanted after a look at what went wrong. False: there is nothing more to try."""
    errors = collection.process.stderr.text
    if collection.exit_status == 4 and _UNKNOWN_OPTION.search(errors) and not search.settings.ignore_addopts:
        search.settings.ignore_addopts = True
        search.notes.append(f"addopts is ignored: {_last_line(collection)}")
        return True
    broken = [name for name in search.settings.plugins if f'"{name}"' in errors or f"'{name}'" in errors]
    if not collection.tests and not collection.errors and collection.exit_status != 5 and broken:
        search.settings.plugins = [name for name in search.settings.plugins if name not in broken]
        search.notes += [f"pytest plugin {name} is not loaded: it breaks pytest" for name in broken]
        return True
    return _add_missing(project, base, collection, search)


def _add_missing(project: Project, base: dict[str, str], collection: Collection, search: _Search) -> bool:
    found = {_distribution(module): module for module in _missing(project, collection)}
    new = [name for name in found if name not in search.tried and name != canonicalize_name(project.name)]
    search.tried.update(new)
    added: list[str] = []
    for group in [new] if len(new) < 2 else [new, *([name] for name in new)]:
        wanted = list(search.wanted)
        search.wanted = wanted + [name for name in group if name not in added]
        try:  # a module's name is only a guess at a distribution's: a wrong one is noted, the tests decide
            _resolve(project, base, search)
        except EnvironmentUnavailable as error:
            search.wanted = wanted
            search.notes.append(error.message)
        else:
            added = group if group is new else [*added, *group]
            if group is new:
                break
    search.notes += [f"{name} is added: the tests import {found[name]}" for name in added]
    return bool(added)


def _missing(project: Project, collection: Collection) -> list[str]:
    found = [
        match[1]
        for error in collection.errors
        if error.exception == "ModuleNotFoundError" and (match := _MISSING.search(error.message))
    ]
    own = {*project.packages, "tests", "test", "conftest"}
    return [module for module in dict.fromkeys(found) if module.split(".")[0] not in own]


def _distribution(module: str) -> str:
    top = module.split(".")[0]
    return canonicalize_name(NAMES.get(module) or NAMES.get(top) or top)


def _judge(project: Project, collection: Collection, search: _Search) -> None:
    """Accept a collection with tests in it; otherwise say what was in the way."""
    if collection.process.verdict in ("timeout", "memory", "processes", "disk", "output"):
        raise TaskError(
            f"the tests of {project.name} cannot be collected: a limit was reached ({collection.process.verdict})"
        )
    if collection.process.signal is not None and not collection.complete:
        raise SandboxError(f"collecting the tests of {project.name} ended by signal {collection.process.signal}")
    if collection.tests and collection.complete:
        search.notes += [
            f"{error.path}: its tests are left out, {error.exception}: {_one_line(error.message)}"
            for error in collection.errors
        ]
        return
    tried = [note for note in search.notes if note.startswith("cannot install")]
    raise TaskError(
        f"the tests of {project.name} cannot be collected: {_last_line(collection)}",
        tried[0] if tried else "run them yourself first: python -m pytest --collect-only",
    )


def _last_line(collection: Collection) -> str:
    if collection.errors:
        error = collection.errors[0]
        return f"{error.path}: {error.exception}: {_one_line(error.message)}"
    if collection.exit_status == 5:
        return "pytest finds no tests"
    text = collection.process.stderr.text.strip() or collection.process.stdout.text.strip()
    return _one_line(next((line for line in text.splitlines() if "ERROR" in line or "error:" in line), text[-300:]))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
