"""A test run from a warm interpreter beside cold pytest, bare and in the same sandbox; medians of one run.

Ten small tests in an environment with several pytest plugins, and real suites given as source archives:

    python -m benchmarks.warm_runs [toolz-1.2.0.tar.gz ...] [--rounds 15]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import coverage
import pytest

from benchmarks._opened import opened
from redtogreen.execution.environments import Environment, open_workspace
from redtogreen.execution.sandboxes import FileChange, Limits, Sandbox
from redtogreen.execution.testruns import run_tests
from redtogreen.execution.testruns.run import INTERPRETER

_TESTS = "from ten import double\n\n\n" + "\n\n".join(
    f"def test_{number}():\n    assert double({number}) == {2 * number}\n" for number in range(10)
)
_PYPROJECT = """[project]
name = "ten"
version = "1.0"
[dependency-groups]
test = ["hypothesis", "pytest-asyncio", "pytest-mock", "pytest-timeout", "pytest-benchmark", "numpy"]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    print(
        f"pytest {pytest.__version__}, coverage {coverage.__version__}, {os.cpu_count()} cores; seconds, median (min)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for path in [_ten_tests(Path(folder)), *arguments.projects]:
            _measure(path, Path(folder), arguments.rounds)


def _ten_tests(folder: Path) -> Path:
    project = folder / "ten"
    project.mkdir()
    (project / "ten.py").write_text("def double(number):\n    return 2 * number\n")
    (project / "test_ten.py").write_text(_TESTS)
    (project / "pyproject.toml").write_text(_PYPROJECT)
    return project


def _measure(path: Path, folder: Path, rounds: int) -> None:
    made = opened(path, folder)
    project, environment, lower = made.project, made.environment, made.lower
    limits = Limits(memory=2**30)

    def in_sandbox(warm: bool) -> Callable[[], tuple[float, int]]:
        def run() -> tuple[float, int]:
            with open_workspace(environment, lower, limits=limits) as sandbox:
                if not warm:
                    sandbox.preload = None
                start = time.perf_counter()
                result = run_tests(sandbox)
                took = time.perf_counter() - start
                assert result.process.warm == warm, "the warm interpreter was given up"
                return took, len(result.tests)

        return run

    for _ in range(3):  # found out when wanted twice, started when wanted twice
        with open_workspace(environment, lower, limits=limits) as sandbox:
            run_tests(sandbox)
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ways: dict[str, Callable[[], tuple[float, int]]] = {
        "cold `python -m pytest`, no sandbox": lambda: (_bare(environment, project.root, {}), 0),
        "the same without plugins": lambda: (_bare(environment, project.root, plugins), 0),
        "cold in the sandbox": in_sandbox(False),
        "warm in the sandbox": in_sandbox(True),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    count = 0
    for _ in range(rounds):
        for way, run in ways.items():
            took, tests = run()
            times[way].append(took)
            count = max(count, tests)
    warm = statistics.median(times["warm in the sandbox"])
    with open_workspace(environment, lower, limits=limits) as sandbox:
        around = [_around(sandbox) for _ in range(rounds)]
    print(f"\n{project.name}: {count} tests")
    for way, seconds in times.items():
        median = statistics.median(seconds)
        print(f"  {way:38} {median:7.3f} ({min(seconds):.3f})   {median / warm:5.1f} x warm")
    print(f"  of a warm run: fork, isolation and the way there and back {1000 * statistics.median(around):.1f} ms")


def _around(sandbox: Sandbox) -> float:
    """Seconds of a warm command whose program ends at once."""
    sandbox.write({"end.py": FileChange("file", b"import os\nos._exit(0)\n")})
    start = time.monotonic()
    result = sandbox.run([*INTERPRETER, "/work/end.py"], env={"PYTHONHASHSEED": "0"}, warm=sandbox.preload)
    end = time.monotonic()
    assert result.warm
    return end - start


def _bare(environment: Environment, root: Path, env: dict[str, str]) -> float:
    """The interpreter of the environment on the host, as a developer would call it; the project is on its path."""
    python = environment.path / "bin" / "python"
    roots = os.pathsep.join(str(root / part) for part in environment.roots)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1", **env}
    start = time.perf_counter()
    subprocess.run(command, cwd=root, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
