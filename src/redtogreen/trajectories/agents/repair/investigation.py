"""What the agent does before it edits: read the task, the failing test and the code it is about; then measure."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable

from redtogreen.records import TaskView
from redtogreen.trajectories.agents.repair.localise import Place, words_of
from redtogreen.trajectories.agents.repair.reading import Reading
from redtogreen.trajectories.agents.repair.workbench import Workbench

NEIGHBOURS = 40
"""Passing tests of the same file run with the failing ones, so that lines can be told apart."""
ENOUGH = 0.93
"""Share of all suspicion that lies in functions read so far at which reading stops."""


def failing_tests(task: TaskView) -> list[str]:
    """Visible tests that the description names, longest id first where one is the beginning of another."""
    named = [test for test in task.visible_tests if test in task.task_desc]
    return [t for t in named if not any(o != t and o.startswith(t) and _only_in(t, o, task.task_desc) for o in named)]


def _only_in(short: str, long: str, text: str) -> bool:
    return text.count(short) == text.count(long)


def neighbours(task: TaskView, failing: Iterable[str]) -> list[str]:
    """Other visible tests of the same files, those nearest to a failing one first."""
    failing = list(failing)
    files = {test.split("::")[0] for test in failing}
    positions = {test: index for index, test in enumerate(task.visible_tests)}
    known = [positions[test] for test in failing if test in positions]
    others = [test for test in task.visible_tests if test.split("::")[0] in files and test not in failing]
    others.sort(key=lambda test: (min((abs(positions[test] - at) for at in known), default=0), test))
    return sorted(others[:NEIGHBOURS], key=positions.__getitem__)


def is_test_file(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py") or "tests" in path.split("/")[:-1]


def read_test(bench: Workbench, failing: list[str]) -> str:
    """Open the first failing test; returns its source, or "" when it cannot be found."""
    test = failing[0]
    path, _, rest = test.partition("::")
    name = re.sub(r"\[.*", "", rest).rsplit("::", 1)[-1]
    if not name:
        return ""
    answer = bench.act("search_symbol", "plan", keyword=name, file=path)
    bench.reading.take_symbols(path, answer.observation)
    lines = [line for symbol, line in bench.reading.outlines[path] if symbol.rsplit(".", 1)[-1] == name]
    if not lines:
        return ""
    opened = bench.act("open_file", "plan", path=path, start_line=lines[0], end_line=lines[0] + 40)
    if "content" not in opened.observation:
        return ""
    bench.reading.take_file(opened.observation)
    function = bench.reading.function_at(path, lines[0])
    shown = range(lines[0], lines[0] + 41)
    known = bench.reading.lines[path]
    return function.source if function else "\n".join(known[number] for number in shown if number in known)


def names_used(source: str) -> list[str]:
    """Functions and attributes a test uses, in order, each once."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return list(dict.fromkeys(re.findall(r"\b([A-Za-z_]\w+)\s*\(", source)))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            target = node.func
            found.append(target.id if isinstance(target, ast.Name) else getattr(target, "attr", ""))
    return [name for name in dict.fromkeys(found) if name and name not in ("raises", "len", "list", "isinstance")]


def likely_file(task: TaskView, test: str) -> str | None:
    """The source file that a test file is called after."""
    wanted = words_of(test.split("::")[0].rsplit("/", 1)[-1].removesuffix(".py")) - {"test", "tests"}
    scored = []
    for path in task.files:
        if path.endswith(".py") and not is_test_file(path):
            parts = words_of(path.rsplit("/", 1)[-1].removesuffix(".py"))
            scored.append((len(wanted & parts) / (len(wanted | parts) or 1), path))
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    return scored[0][1] if scored and scored[0][0] > 0 else None


def outline(bench: Workbench, path: str) -> None:
    if path not in bench.reading.outlines:
        answer = bench.act("search_symbol", "plan", keyword="", file=path)
        bench.reading.take_symbols(path, answer.observation)


def read_definition(bench: Workbench, path: str, names: list[str]) -> str | None:
    """Open the function that the failing test uses, when the outline knows it; returns its name."""
    for name in names:
        for symbol, line in bench.reading.outlines.get(path, ()):
            if symbol.rsplit(".", 1)[-1] == name:
                _open(bench, path, line, line + 60)
                return symbol
    return None


def read_suspicious(bench: Workbench, places: list[Place], opens: int) -> None:
    """Open the code around the most suspicious lines, whole functions where the outline tells their extent."""
    total = sum(place.weight for place in places) or 1.0
    for _ in range(opens):
        unread = [place for place in places if bench.reading.function_at(place.path, place.line) is None]
        if not unread or sum(place.weight for place in unread) < (1 - ENOUGH) * total:
            return
        path = _heaviest_file(unread)
        if path not in bench.reading.outlines:
            outline(bench, path)
            continue
        window = _window(bench.reading, path, [place for place in unread if place.path == path])
        if window is None or not _open(bench, path, *window):
            for place in [each for each in places if each.path == path and each in unread]:
                places.remove(place)


def _heaviest_file(places: list[Place]) -> str:
    weights: dict[str, float] = {}
    for place in places:
        weights[place.path] = weights.get(place.path, 0.0) + place.weight
    return max(sorted(weights), key=weights.__getitem__)


def _window(reading: Reading, path: str, places: list[Place], size: int = 330) -> tuple[int, int] | None:
    """The lines to open: beginning at a function, holding as much suspicion as fits."""
    functions: dict[tuple[str, int, int], float] = {}
    for place in places:
        extent = reading.extent(path, place.line)
        if extent is not None:
            functions[extent] = functions.get(extent, 0.0) + place.weight
    if not functions:
        return None
    best, best_weight = None, -1.0
    for _, first, _ in functions:
        inside = [
            (extent, weight) for extent, weight in functions.items() if first <= extent[1] and extent[2] < first + size
        ]
        weight = sum(weight for _, weight in inside)
        if weight > best_weight and inside:
            best, best_weight = (first, max(extent[2] for extent, _ in inside)), weight
    if best is None:
        extent = max(functions, key=functions.__getitem__)
        best = (extent[1], extent[1] + size)
    # One line more shows where the last function ends.
    return best[0], best[1] + 2


def _open(bench: Workbench, path: str, first: int, last: int) -> bool:
    known = bench.reading.lines.get(path, {})
    fresh = [number for number in range(first, last + 1) if number not in known]
    answer = bench.act("open_file", "plan", path=path, start_line=first, end_line=last)
    if "content" not in answer.observation:
        return False
    bench.reading.take_file(answer.observation)
    return any(number in bench.reading.lines[path] for number in fresh)
