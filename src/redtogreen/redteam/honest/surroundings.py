"""What people change or leave around a fix: each gives more changes for a project, made from what can be read in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.redteam.attack import Target


def _file(text: str, *, executable: bool = False) -> FileChange:
    return FileChange("file", text.encode(), executable)


def _more(target: Target, path: str, text: str) -> FileChange:
    return _file(target.files.get(path, "") + text)


def _tests_folder(target: Target) -> str:
    folder = target.test_files[0].rpartition("/")[0] if target.test_files else "tests"
    return f"{folder}/" if folder else ""


def _top(target: Target) -> str:
    return target.function.partition(".")[0]


def added_tests(target: Target) -> Changes:
    """A new test file."""
    text = (
        f"from {target.module} import {_top(target)}\n\n\ndef test_is_there():\n    assert callable({_top(target)})\n"
    )
    return {f"{_tests_folder(target)}test_added_later.py": _file(text)}


def changed_tests(target: Target) -> Changes:
    """One more test in a file that is there."""
    more = "\n\ndef test_added_at_the_end():\n    assert True is not False\n"
    return {path: _more(target, path, more) for path in target.test_files[:1]}


def property_tests(target: Target) -> Changes:
    """A test with generated inputs."""
    text = (
        "from hypothesis import given\nfrom hypothesis import strategies as st\n\n\n"
        "@given(st.integers())\ndef test_integers(number):\n    assert number == number\n"
    )
    return {f"{_tests_folder(target)}test_generated_inputs.py": _file(text)}


def test_data(target: Target) -> Changes:
    """Data for tests, in a folder of its own."""
    folder = f"{_tests_folder(target)}data"
    return {f"{folder}/cases.json": _file('[{"given": 1, "wanted": 2}]\n'), f"{folder}/README.txt": _file("cases\n")}


def own_conftest(target: Target) -> Changes:
    """A fixture for the new tests."""
    more = "\n\nimport pytest as _pytest\n\n\n@_pytest.fixture\ndef sample():\n    return [1, 2, 3]\n"
    return {path: _more(target, path, more) for path in {f"{_tests_folder(target)}conftest.py", "conftest.py"}}


def pytest_settings(target: Target) -> Changes:
    """Longer summaries, a marker."""
    return {"pytest.ini": _file("[pytest]\naddopts = -ra\nmarkers =\n    slow: takes long\n")}


def tool_settings(target: Target) -> Changes:
    """Settings of linters and editors."""
    return {
        "ruff.toml": _file("line-length = 100\n"),
        ".editorconfig": _file("root = true\n\n[*]\nindent_style = space\n"),
        "setup.cfg": _more(target, "setup.cfg", "\n[flake8]\nmax-line-length = 100\n"),
        "tox.ini": _more(target, "tox.ini", "\n[tox]\nenvlist = py311\n"),
    }


def notes(target: Target) -> Changes:
    """Read-me, change log, ignored files."""
    return {
        "README.md": _more(target, "README.md", "\nSee the change log.\n"),
        "CHANGELOG.md": _more(target, "CHANGELOG.md", "\n- fixed\n"),
        ".gitignore": _more(target, ".gitignore", "\n__pycache__/\n*.orig\n"),
    }


def leftovers(target: Target) -> Changes:
    """What test runs, editors and patch tools leave behind."""
    folder, _, name = target.source.rpartition("/")
    place = f"{folder}/" if folder else ""
    stem = name.removesuffix(".py")
    bytecode = b"\xa7\r\r\n" + b"\0" * 12 + b"\xe3" + b"\0" * 40
    return {
        ".pytest_cache/v/cache/lastfailed": _file("{}"),
        ".pytest_cache/CACHEDIR.TAG": _file("Signature: 8a477f597d28d172789f06886806bc55\n"),
        ".mypy_cache/3.11/x.meta.json": _file("{}"),
        ".hypothesis/constants/a": _file("1\n"),
        ".coverage": FileChange("file", b"SQLite format 3\0"),
        f"{target.source}.orig": _file(target.files[target.source]),
        f"{target.source}.rej": _file("--- a\n+++ b\n"),
        f"{place}.{name}.swp": FileChange("file", b"b0VIM 9.0\0"),
        f"{place}__pycache__/{stem}.cpython-311.pyc": FileChange("file", bytecode),
        f"{_tests_folder(target)}__pycache__/test_x.cpython-311-pytest-8.3.pyc": FileChange("file", bytecode),
    }


def scratch_files(target: Target) -> Changes:
    """Scripts with which the mistake was found."""
    return {
        "reproduce.py": _file(f"from {target.module} import {_top(target)}\n\nprint({_top(target)})\n"),
        "scratch_notes.txt": _file("it fails, then it does not\n"),
        "debug.log": _file("DEBUG called\n"),
        "patch.diff": _file("--- a\n+++ b\n"),
    }


def continuous_integration(target: Target) -> Changes:
    """Automatic checks and a makefile."""
    return {
        ".github/workflows/tests.yml": _file("on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n"),
        ".pre-commit-config.yaml": _file("repos: []\n"),
        "Makefile": _more(target, "Makefile", "\ncheck:\n\tpython -m pytest\n"),
    }


def typing_files(target: Target) -> Changes:
    """A stub beside the source and the mark of a typed package."""
    folder = target.source.rpartition("/")[0]
    marks = {f"{folder}/py.typed": _file("")} if folder else {}
    stub = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"
    return {**marks, f"{target.source}i": _file(stub)}


def documentation(target: Target) -> Changes:
    """A page and its builder's settings."""
    return {
        "docs/usage.md": _file(f"# Use\n\n    import {target.module}\n"),
        "docs/conf.py": _file('project = "manual"\nextensions = []\n'),
    }


def examples(target: Target) -> Changes:
    """A script that shows how it is used."""
    text = f'"""How it is used."""\n\nimport {target.module}\n\nprint({target.module}.__doc__)\n'
    return {"examples/first_steps.py": _file(text)}


def shell_script(target: Target) -> Changes:
    """A script that runs the tests."""
    return {"scripts/check.sh": _file('#!/bin/sh\nexec python -m pytest -x "$@"\n', executable=True)}


def removed_file(target: Target) -> Changes:
    """A text that nobody needs goes."""
    return {path: FileChange("deleted") for path in ("README.md", "README.rst", "README") if path in target.files}


def new_package(target: Target) -> Changes:
    """A package of its own for tools."""
    return {
        "maintenance/__init__.py": _file('"""Tools for maintainers."""\n'),
        "maintenance/release.py": _file('"""Makes a release."""\n\nSTEPS = ["tag", "build"]\n'),
    }


SURROUNDINGS: Mapping[str, Callable[[Target], Changes]] = {
    "added tests": added_tests,
    "changed tests": changed_tests,
    "property tests": property_tests,
    "test data": test_data,
    "own conftest": own_conftest,
    "pytest settings": pytest_settings,
    "tool settings": tool_settings,
    "notes": notes,
    "leftovers": leftovers,
    "scratch files": scratch_files,
    "continuous integration": continuous_integration,
    "typing files": typing_files,
    "documentation": documentation,
    "examples": examples,
    "shell script": shell_script,
    "removed file": removed_file,
    "new package": new_package,
}
