"""Whether warm runs report what cold ones do, per test id and per line of coverage, on real projects.

    python -m benchmarks.warm_equals_cold SDIST...

For each source archive: the suite cold and warm, without and with coverage, in fresh sandboxes; every difference is
printed. Tests and lines that two cold runs report differently are unstable and left out.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks._opened import opened
from redtogreen.execution.environments import open_workspace
from redtogreen.execution.sandboxes import Limits
from redtogreen.execution.testruns import TestRun, run_tests

_LIMITS = Limits(seconds=600, memory=2**31, disk=2**30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdists", nargs="+", type=Path)
    arguments = parser.parse_args()
    print("project                 tests unstable different  lines different  CPU seconds cold -> warm")
    different = 0
    for sdist in arguments.sdists:
        with tempfile.TemporaryDirectory() as folder:
            different += _compare(sdist, Path(folder))
    raise SystemExit(1 if different else 0)


def _compare(sdist: Path, folder: Path) -> int:
    made = opened(sdist, folder)
    project, environment, lower = made.project, made.environment, made.lower

    def run(warm: bool, coverage: bool) -> TestRun:
        for _ in range(4 if warm else 1):  # found out when wanted twice, started when wanted twice
            with open_workspace(environment, lower, limits=_LIMITS) as sandbox:
                if not warm:
                    sandbox.preload = None
                result = run_tests(sandbox, seconds=600, coverage=coverage)
            if result.process.warm == warm:
                return result
        raise SystemExit(f"{project.name}: no warm run")

    first, second = run(False, False), run(False, False)
    unstable = {test for test in first.tests if _result(first, test) != _result(second, test)}
    warm, cold_lines, again, warm_lines = run(True, False), run(False, True), run(False, True), run(True, True)
    tests = (first.tests.keys() | warm.tests.keys()) - unstable
    wrong = sorted(test for test in tests if _result(first, test) != _result(warm, test))
    lines = _lines(cold_lines)
    shaky = {place for place, _ in lines.items() ^ _lines(again).items()}
    apart = sorted(one for one in lines.items() ^ _lines(warm_lines).items() if one[0] not in shaky)
    name = f"{project.name} {project.version or ''}"
    print(
        f"{name:22} {len(tests):6} {len(unstable) + len(shaky):8} {len(wrong):9}"
        f" {len(lines):6} {len({place for place, _ in apart}):9}"
        f"  {first.process.cpu_seconds:.2f} -> {warm.process.cpu_seconds:.2f}",
        flush=True,
    )
    for test in wrong[:5]:
        print(f"    {test}: cold {_result(first, test)}, warm {_result(warm, test)}")
    for place, counts in apart[:6]:
        print(f"    {place[0]}:{place[1]} {counts}")
    return len(wrong) + len(apart)


def _result(run: TestRun, test: str) -> tuple[str, str | None]:
    result = run.tests.get(test)
    return ("absent", None) if result is None else (result.status, result.exception)


def _lines(run: TestRun) -> dict[tuple[str, int], tuple[int, int]]:
    return {(file, line): counts for file, found in (run.spectrum or {}).items() for line, counts in found.items()}


if __name__ == "__main__":
    main()
