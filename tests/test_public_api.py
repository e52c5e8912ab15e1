"""What users import: the public names exist, are documented, and cost nothing until used."""

from __future__ import annotations

import subprocess
import sys

import redtogreen

NAMES = [
    "Outcome",
    "Recipe",
    "Sandbox",
    "Step",
    "Task",
    "Trajectory",
    "admit",
    "build_dataset",
    "clean",
    "collect",
    "export",
    "grade",
    "load_tasks",
    "load_trajectories",
    "make_tasks",
    "score",
]


def test_public_names_are_exactly_the_documented_ones() -> None:
    assert sorted(redtogreen.__all__) == sorted([*NAMES, "__version__"])
    for name in NAMES:
        assert getattr(redtogreen, name) is not None


def test_public_functions_are_documented() -> None:
    for name in NAMES:
        thing = getattr(redtogreen, name)
        if callable(thing) and name[0].islower():
            assert thing.__doc__, name


def test_import_loads_no_wing() -> None:
    """`import redtogreen` must not pull in columnar files, scanners or the command line."""
    code = "import redtogreen, sys; print('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {"pyarrow", "duckdb", "kingfisher_sdk", "typer", "rich", "numpy"}


def test_unknown_name_is_an_attribute_error_with_the_nearest() -> None:
    try:
        redtogreen.scores  # noqa: B018
    except AttributeError as error:
        assert "score" in str(error)
    else:
        raise AssertionError("no error")
