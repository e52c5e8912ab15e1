"""A small, varied sample of mutations: over operators by realism, over files and functions evenly."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence

from redtogreen.errors import UsageError
from redtogreen.mutation.generate import OPERATORS
from redtogreen.mutation.model import Mutation


def choose(
    mutations: Sequence[Mutation], count: int, seed: int, *, reached: Callable[[Mutation], float]
) -> list[Mutation]:
    """At most `count` mutations, the same for the same arguments; a larger `count` extends a smaller one's list.

    `reached` gives each mutation's chance to be noticed by a test, in [0, 1]; 0 leaves it out. Operators take turns in
    proportion to weight times best chance (divisor method of Sainte-Lague); within an operator those come first whose
    function and file have been picked least, plus a weighted random key -ln(u) / reached (Efraimidis and Spirakis
    2006). No two share operator, path and start; no two make the same change. Raises UsageError for a weight outside
    [0, 1].
    """
    queues: dict[str, list[tuple[float, float, int]]] = {}
    masses: dict[str, float] = {}
    best: dict[str, float] = {}
    for index, mutation in enumerate(mutations):
        weight = reached(mutation)
        if not 0.0 <= weight <= 1.0:
            raise UsageError(
                f"reached({mutation.path}, line {mutation.line}) gave {weight!r}", "return a number from 0 to 1"
            )
        if weight:
            masses[mutation.path] = masses.get(mutation.path, 0.0) + weight
            best[mutation.operator] = max(best.get(mutation.operator, 0.0), weight)
            luck = -math.log(_uniform(seed, mutation)) / weight
            queues.setdefault(mutation.operator, []).append((luck, luck, index))
    for queue in queues.values():
        heapq.heapify(queue)
    total = math.fsum(masses.values())
    functions: Counter[tuple[str, str]] = Counter()
    files: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    sites: set[tuple[str, str, int]] = set()
    changes: set[tuple[str, int, int, str]] = set()
    chosen: list[Mutation] = []

    def crowding(mutation: Mutation) -> float:
        share = math.sqrt(masses[mutation.path] / total)
        return functions[mutation.path, mutation.function] + files[mutation.path] / (share * 10)

    while len(chosen) < count and queues:
        name = max(queues, key=lambda n: (_weight(n) * best[n] / (2 * turns[n] + 1), n))
        queue = queues[name]
        while queue:
            cost, luck, index = heapq.heappop(queue)
            mutation = mutations[index]
            site = (name, mutation.path, mutation.start)
            change = (mutation.path, mutation.start, mutation.end, mutation.replacement)
            if site in sites or change in changes:
                continue
            now = luck + crowding(mutation)
            if queue and now > cost and now > queue[0][0]:
                heapq.heappush(queue, (now, luck, index))
                continue
            sites.add(site)
            changes.add(change)
            functions[mutation.path, mutation.function] += 1
            files[mutation.path] += 1
            turns[name] += 1
            chosen.append(mutation)
            break
        if not queue:
            del queues[name]
    return chosen


def _weight(operator: str) -> float:
    if operator not in OPERATORS:
        raise UsageError(f'unknown mutation operator "{operator}"', f"known: {', '.join(sorted(OPERATORS))}")
    return OPERATORS[operator].weight


def _uniform(seed: int, mutation: Mutation) -> float:
    """A number in (0, 1] that depends on the seed and the mutation only."""
    digest = hashlib.sha256(f"{seed}:{mutation.key}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 1) / 2**64
