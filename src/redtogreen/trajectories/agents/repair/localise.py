"""Where the bug may be: Ochiai suspiciousness of lines and functions, frames of the failure, likeness of words.

Ochiai: failing tests that execute the line / sqrt(all failing tests x all tests that execute it) (Abreu et al. 2007).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from redtogreen.trajectories.agents.repair.failure import Failure

_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")
FRAME_BONUS = 0.3
"""Added to the weight of a line that stands innermost in a failure's traceback; halved per frame outwards."""

SHOWN = 0.3
"""Share of suspicion that is left for `__repr__`: it runs because a test fails and its values are shown."""


@dataclass(frozen=True)
class Place:
    """One executed line and how suspicious it is."""

    path: str
    line: int
    weight: float
    """Above 0; only the proportion between places counts."""


def ochiai(failing: int, passing: int, all_failing: int) -> float:
    """Suspiciousness in [0, 1] of a line that `failing` and `passing` tests executed."""
    if not failing or not all_failing:
        return 0.0
    return failing / math.sqrt(all_failing * (failing + passing))


def read_spectrum(observation: Mapping) -> dict[str, dict[int, tuple[int, int]]]:
    """File -> line -> (failing, passing) from the answer to run_test with coverage."""
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for path, ranges in (observation.get("spectrum") or {}).items():
        lines = found.setdefault(path, {})
        for first, last, failing, passing in ranges:
            lines.update((number, (failing, passing)) for number in range(first, last + 1))
    return found


def words_of(text: str) -> set[str]:
    """Parts of identifiers, lower case: `_parse_bareKey` -> parse, bare, key."""
    return {word.lower() for word in _WORD.findall(text)}


def places(
    spectrum: Mapping[str, Mapping[int, tuple[int, int]]],
    failures: Iterable[Failure],
    function_of: Callable[[str, int], str | None],
    words: set[str],
) -> list[Place]:
    """Executed lines, the most suspicious first.

    `function_of`: (path, line) -> name of the function around it, None when not known. `words`: parts of the names the
    failing tests use; a function that is called like what the test talks about is more suspicious.
    """
    failures = list(failures)
    all_failing = max((failing for lines in spectrum.values() for failing, _ in lines.values()), default=0)
    frames = _frames(failures, spectrum)
    weights: dict[tuple[str, int], float] = {}
    best: dict[tuple[str, str | None], list[float]] = {}
    for path, lines in spectrum.items():
        for line, (failing, passing) in lines.items():
            weight = ochiai(failing, passing, all_failing)
            weights[path, line] = weight
            best.setdefault((path, function_of(path, line)), []).append(weight)
    found = []
    for (path, line), weight in weights.items():
        name = function_of(path, line)
        group = best[path, name]
        whole = sum(group) / len(group)
        parts = words_of(name or "")
        alike = len(parts & words) / len(parts) if parts else 0.0
        if name is not None and name.endswith("__repr__") and "repr" not in words:
            alike, weight, whole = 0.0, SHOWN * weight, SHOWN * whole
        # Small functions first: a long one has many lines to be wrong, each of them less likely.
        total = (0.6 * weight + 0.4 * whole) ** 2 * (1 + 0.8 * alike) / math.sqrt(len(group) + 2)
        found.append(Place(path, line, total + frames.get((path, line), 0.0) / math.sqrt(len(group) + 2)))
    return sorted(found, key=lambda place: (-place.weight, place.path, place.line))


def _frames(failures: list[Failure], spectrum: Mapping) -> dict[tuple[str, int], float]:
    """Bonus of lines in tracebacks: the innermost frames of project code, for failures that code itself raised."""
    found: dict[tuple[str, int], float] = {}
    for failure in failures:
        if failure.exception == "AssertionError":
            continue
        own = [(path, line) for path, line, _ in failure.frames if path in spectrum]
        for depth, place in enumerate(reversed(own[-4:])):
            found[place] = max(found.get(place, 0.0), FRAME_BONUS / 2**depth)
    return found
