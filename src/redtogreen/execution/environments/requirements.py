"""Which distributions a project's tests need, from what it declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from redtogreen.execution.environments.declared import Declared, text_of

TEST_GROUPS = ("test", "tests", "testing")
TEST_FILES = (
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "test_requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "tests/requirements.txt",
)
SKIPPED = frozenset(
    (
        # other runners, and what a run sets itself: order, parallel work, coverage, looks
        *("tox", "nox", "pytest-xdist", "pytest-cov", "pytest-randomly", "pytest-random-order", "pytest-sugar"),
        # checks of the source, which no test needs
        *("mypy", "pyright", "flake8", "pylint", "pycodestyle", "pyflakes", "pydocstyle", "black", "isort", "bandit"),
        *("codespell", "pre-commit", "pytest-mypy", "pytest-flake8", "pytest-black", "pytest-ruff", "pytest-enabler"),
        # building, publishing, documentation
        *("build", "twine", "wheel", "setuptools", "pip", "hatch", "hatchling", "poetry", "sphinx", "furo", "mkdocs"),
        *("mkdocs-material", "sphinx-rtd-theme", "towncrier", "codecov", "coveralls", "pytest-checkdocs"),
    )
)
"""Never installed because a project lists them; still installed when a test file cannot be imported without them."""


def runtime_requirements(declared: Declared, notes: list[str]) -> list[str]:
    """What the package itself needs, on this machine."""
    return _usable(declared.dependencies, declared, "", notes)


def test_requirements(root: Path, declared: Declared, notes: list[str]) -> list[str]:
    """What its tests need besides: extras and groups named test, tests or testing, and requirement files for tests."""
    found: list[str] = []
    for name, requirements in declared.extras.items():
        if canonicalize_name(name) in TEST_GROUPS:
            found += _usable(requirements, declared, name, notes)
    for name in declared.groups:
        if canonicalize_name(name) in TEST_GROUPS:
            found += _usable(_group(name, declared, set()), declared, "", notes)
    for file in TEST_FILES:
        found += _usable(_file(root, file, set()), declared, "", notes)
    return list(dict.fromkeys(found))


def _group(name: str, declared: Declared, seen: set[str]) -> Iterator[str]:
    """A dependency group with the groups it includes (PEP 735)."""
    key = canonicalize_name(name)
    if key in seen:
        return
    seen.add(key)
    for group, items in declared.groups.items():
        if canonicalize_name(group) != key:
            continue
        for item in items:
            if isinstance(item, str):
                yield item
            elif isinstance(item, dict) and isinstance(included := item.get("include-group"), str):
                yield from _group(included, declared, seen)


def _file(root: Path, name: str, seen: set[str]) -> Iterator[str]:
    """Lines of a requirements file inside the project, with the files it includes."""
    path = (root / name).resolve()
    if name in seen or not path.is_relative_to(root.resolve()):
        return
    seen.add(name)
    text: Any = text_of(path) or ""
    for raw in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        if included := re.match(r"(?:-r|--requirement)[\s=]+(\S+)", line):
            yield from _file(root, str((Path(name).parent / included[1]).as_posix()), seen)
        elif line and not line.startswith("-"):
            yield re.split(r"\s--hash", line)[0].strip()


def _usable(
    texts: Iterable[str], declared: Declared, extra: str, notes: list[str], seen: frozenset[str] = frozenset()
) -> list[str]:
    found: list[str] = []
    seen = seen | {canonicalize_name(extra)}
    own = canonicalize_name(declared.name or "")
    for text in texts:
        try:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        except (InvalidRequirement, UndefinedEnvironmentName):
            notes.append(f"requirement {text!r}: left out, not a plain requirement")
            continue
        name = canonicalize_name(requirement.name)
        if not applies:
            continue
        if name == own:  # the project's own extras, as in "package[test]"
            for wanted in requirement.extras:
                for key, requirements in declared.extras.items():
                    if canonicalize_name(key) == canonicalize_name(wanted) and canonicalize_name(key) not in seen:
                        found += _usable(requirements, declared, key, notes, seen)
            if not requirement.extras:
                notes.append(f"requirement {text!r}: left out, it is the project itself")
        elif requirement.url:
            notes.append(f"requirement {text!r}: left out, only packages of an index are installed")
        elif name in SKIPPED:
            notes.append(f"requirement {text!r}: left out, tests do not need it")
        else:
            requirement.marker = None
            found.append(str(requirement))
    return list(dict.fromkeys(found))
