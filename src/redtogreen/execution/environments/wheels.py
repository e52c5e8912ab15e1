"""Fetch a project's requirements as wheels with pip. No code of theirs runs here: wheels are only unpacked."""

from __future__ import annotations

import functools
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from redtogreen.errors import EnvironmentUnavailable
from redtogreen.execution.environments.distributions import interpreter
from redtogreen.store import scratch

SECONDS = 900


def install(requirements: Sequence[str], present: Mapping[str, str], target: Path) -> None:
    """Install requirements with everything they need into the folder `target`.

    `present`: name -> version of what is there already: neither fetched nor changed, though `target` may name it.
    Raises EnvironmentUnavailable, naming the requirement, when one cannot be had: no pip, no connection, no wheel for
    this Python, or a conflict.
    """
    target.mkdir(parents=True, exist_ok=True)
    with scratch() as folder:
        pinned = folder / "constraints.txt"
        pinned.write_text("".join(f"{name}=={version}\n" for name, version in present.items()))
        for name, version in present.items():
            _stand_in(folder, name, version)
        command = [*_pip(), "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-compile"]
        command += ["--only-binary=:all:", "--no-warn-script-location", "--target", str(target)]
        command += ["--find-links", str(folder), "--constraint", str(pinned), *requirements]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentUnavailable(f"pip did not finish within {SECONDS} s: {_list(requirements)}") from None
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("ERROR:")]
        reason = " ".join(line.removeprefix("ERROR:").strip() for line in lines) or done.stderr.strip()[-500:]
        raise EnvironmentUnavailable(
            f"cannot install {_list(requirements)}: {reason[:800]}",
            "only wheels are used; check the connection and the package index that pip is configured for",
        )


def _stand_in(folder: Path, name: str, version: str) -> None:
    """An empty wheel by which pip takes a distribution for present; its build number puts it before any other."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{plain}-{version}-999999-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: redtogreen\nRoot-Is-Purelib: true\nTag: py3-none-any\nBuild: 999999\n",
        )
        wheel.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@functools.cache
def _pip() -> list[str]:
    for program in (sys.executable, str(interpreter())):
        if (
            subprocess.run([program, "-m", "pip", "--version"], capture_output=True, check=False, cwd="/").returncode
            == 0
        ):
            return [program, "-m", "pip"]
    raise EnvironmentUnavailable(
        "this project needs further packages, and there is no pip to fetch them",
        f"install pip beside redtogreen: {sys.executable} -m ensurepip",
    )


def _list(requirements: Sequence[str]) -> str:
    shown = ", ".join(requirements[:6])
    return shown if len(requirements) <= 6 else f"{shown} and {len(requirements) - 6} more"
