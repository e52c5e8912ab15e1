"""Which suggestion first: place x template x naturalness x failure, drawn with noise.

score = PLACE x log(weight of the place) + log(prior of the template) + bonuses + NATURAL x bits of naturalness gained;
the weights of these parts are general: none of them belongs to one way of breaking code.
Priors follow what studies of one-statement fixes found to be common (ManySStuBs4J, Karampatsis & Sutton 2020):
wrong identifiers, wrong or missing arguments, literals, operators, conditions too weak or too strong.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from redtogreen.trajectories.agents.repair.blame import blamed
from redtogreen.trajectories.agents.repair.candidates import changed_tree, suggestions_for
from redtogreen.trajectories.agents.repair.cures import without_cure
from redtogreen.trajectories.agents.repair.doubts import absurd, idle
from redtogreen.trajectories.agents.repair.failure import Crash, Hints
from redtogreen.trajectories.agents.repair.localise import Place
from redtogreen.trajectories.agents.repair.naturalness import Naturalness, tokens_of
from redtogreen.trajectories.agents.repair.project import collect
from redtogreen.trajectories.agents.repair.reading import Function, Reading
from redtogreen.trajectories.agents.repair.suggestions import Context, Suggestion
from redtogreen.trajectories.agents.repair.tracing import Observed

NATURAL = 0.1
"""Weight of one bit of naturalness."""
BONUS = 0.35
MOST_BONUS = 2.5
PLACE, FIT = 1.3, 1.3
CROWD, CROWD_IN_FUNCTION = 0.2, 0.25
"""Many suggestions of one template at one place, or in one function, share what the template is worth."""
LENGTH = 0.6
"""Share of a usual token's bits that one token more may cost for nothing."""
LINE_IDLE, LINE_TRIED, TEMPLATE_TRIED = 0.35, 0.1, 0.35
"""Taken off for each try in vain on the same line, more when the failure stayed exactly the same, and of the same
template in the same function."""
LOCAL_READ, PARAMETER_READ = 1.5, 0.8
"""Added when a variable, or a parameter, that nothing reads is read at last."""
ABSURD, LEFT_IDLE = 1.5, 1.0
"""Taken off for each expression that cannot work, and for each value that nothing uses any more."""
UNSEEN = 0.05
"""Weight of a line that no failing test executed, as a share of its function's best line."""

PRIORS = {
    "comparison": 0.0, "negation": 0.0, "connective": -0.3, "operand_dropped": -0.8, "none_check": -0.8,
    "condition_strengthened": -0.6, "conditional_value": -0.4, "type_check": -0.6,
    "arithmetic": 0.0, "operands_exchanged": -0.6, "augmented": -0.8, "off_by_one": 0.0, "flag": 0.0,
    "constant_for_name": -0.7,
    "number": 0.0, "none_value": -1.2, "sign": -0.8, "text": -0.8, "slice": -0.4, "index": 0.0,
    "variable": 0.2, "target": -1.0, "function": -0.2, "attribute": -0.1, "call_dropped": -0.8,
    "arguments_exchanged": 0.0, "names_exchanged": -0.3,
    "argument_dropped": -1.6, "argument_added": 0.0, "keyword_value": 0.0,
    "wrapped": -1.0, "member": -1.2, "self_or_not": -0.5,
    "returned": -0.4, "other_returned": -0.5, "return_added": -0.8, "jump": 0.0, "jump_added": -0.5, "yielded": -0.5,
    "removed": -1.6, "unguarded": -1.0, "order": -0.9, "depth": -0.3, "elif": -0.5, "exception": -0.2,
    "guard": -0.7, "guarded": -1.0, "missing_statement": -0.3, "initialised": 0.0, "counted": -0.3,
    "twin": 0.0, "default": -0.2, "crash_owner": 0.4,
    "crash_guard": 0.2, "crash_refused": 0.6, "crash_first_value": 0.6, "crash_operand": 0.2,
}  # fmt: skip
"""Natural logarithms; only differences count."""

_CONDITIONS = ("comparison", "negation", "connective", "operand_dropped", "none_check", "condition_strengthened")
_LENGTHS = ("slice", "index", "off_by_one", "comparison", "number")
FITS: dict[str, dict[str, float]] = {
    "off_by_one": dict.fromkeys(_LENGTHS, 0.8) | {"arithmetic": 0.4, "counted": 0.4},
    "negated": dict.fromkeys(_CONDITIONS, 0.6) | {"flag": 0.6, "other_returned": 0.3, "returned": 0.2},
    "none": {"returned": 1.2, "return_added": 1.2, "other_returned": 0.6, "guard": 0.4, "none_check": 0.4, "jump": 0.2},
    "longer": dict.fromkeys((*_LENGTHS, *_CONDITIONS), 0.3) | {"guarded": 0.4, "jump_added": 0.4},
    "shorter": dict.fromkeys((*_LENGTHS, *_CONDITIONS), 0.3) | {"missing_statement": 0.4, "counted": 0.4, "jump": 0.3},
    "order": {"arguments_exchanged": 0.8, "names_exchanged": 0.5,
              "operands_exchanged": 0.8, "order": 0.6, "arithmetic": 0.4, "sign": 0.6,
              "slice": 0.4, "function": 0.3, "wrapped": 0.3, "flag": 0.3},
    "text": {"text": 0.8, "slice": 0.2, "attribute": 0.2},
    "type": {"wrapped": 0.8, "call_dropped": 0.6, "function": 0.4, "guard": 0.4, "type_check": 0.4, "variable": 0.2},
    "arguments": {"argument_added": 1.2, "argument_dropped": 1.0, "function": 0.3, "arguments_exchanged": 0.3},
    "attribute": {"attribute": 0.8, "initialised": 1.0, "none_check": 0.5, "guard": 0.5, "missing_statement": 0.4},
    "name": {"variable": 1.0, "initialised": 1.0, "missing_statement": 0.8, "depth": 0.5, "self_or_not": 0.6},
    "key": {"wrapped": 0.5, "exception": 0.9, "guarded": 0.8, "variable": 0.3, "guard": 0.3, "comparison": 0.3},
    "index": dict.fromkeys(_LENGTHS, 0.4) | {"exception": 0.8, "guard": 0.6, "guarded": 0.4},
    "endless": {"counted": 1.0, "jump": 0.6, "jump_added": 0.8, "arithmetic": 0.5, "augmented": 0.6, "comparison": 0.4,
                "missing_statement": 0.4, "variable": 0.3},
    "not_raised": dict.fromkeys(_CONDITIONS, 0.6) | {"missing_statement": 0.5, "exception": 0.6, "jump": 0.3},
    "raised": dict.fromkeys(_CONDITIONS, 0.2) | {"exception": 0.5, "guard": 0.3},
    "amount": dict.fromkeys(("number", "arithmetic", "off_by_one", "augmented"), 0.7) | {"variable": -0.3},
    "value": {},
}  # fmt: skip

SHRINK = 1.0
"""Most bits of naturalness that code may gain by losing tokens: less code is always less surprising."""


@dataclass(frozen=True)
class Candidate:
    """A suggestion with its score."""

    suggestion: Suggestion
    function: Function
    score: float
    gain: float
    """Bits by which it makes the code more natural."""
    kinds: Mapping[str, set[str]] = field(default_factory=dict, repr=False)
    """Variable of the function -> types it is known to hold."""
    crashes: tuple[Crash, ...] = field(default=(), repr=False)
    """Crashes inside the function."""

    @cached_property
    def doubt(self) -> float:
        """What the finished code takes off the score; infinite when it does not compile or means nothing new."""
        tree = changed_tree(self.function, self.suggestion)
        if tree is None:
            return math.inf
        worse = (absurd(tree, self.kinds) - absurd(self.function.tree, self.kinds)).total()
        left = idle(tree) - idle(self.function.tree)
        useless = [without_cure(crash, self.function, tree) for crash in self.crashes]
        return ABSURD * min(worse, 3) + LEFT_IDLE * len(left) + (sum(useless) / len(useless) if useless else 0.0)


class Ranking:
    """Candidates of the functions read so far, best first; what was tried is not offered again."""

    def __init__(self, seed: int, temperature: float):
        self._seed, self._temperature = seed, temperature
        self._tried: set[tuple[str, tuple[str, ...], int, int]] = set()
        self._line_tries: defaultdict[tuple[str, int], float] = defaultdict(float)
        self._template_tries: Counter[tuple[str, str]] = Counter()
        self._candidates: list[Candidate] = []
        self.observed = Observed()
        """Types seen in the functions; empty: not traced."""

    def build(self, reading: Reading, paths: Iterable[str], places: Iterable[Place], hints: Hints, most: int) -> None:
        """Score every suggestion for the `most` most suspicious functions that were read, in the files `paths`."""
        weights = {(place.path, place.line): place.weight for place in places}
        functions = [function for path in sorted(paths) for function in reading.functions(path)]
        project = collect(functions, reading.outlines.values())
        lines = [line for path in sorted(paths) for line in reading.lines.get(path, {}).values()]
        model = Naturalness(lines)
        typical = self._typical(model, lines)
        ordered = sorted(functions, key=lambda each: (-_suspicion(each, weights), each.path, each.first))
        self._candidates = []
        for function in ordered[:most]:
            if _suspicion(function, weights) > 0:
                self._candidates += self._scored(function, functions, project, hints, weights, model, typical)
        self._candidates.sort(key=lambda each: (-each.score, each.suggestion.first, each.suggestion.new))

    def _typical(self, model: Naturalness, lines: list[str]) -> float:
        """Bits of a usual token here."""
        sample = [line for line in lines if line.strip()][:400]
        tokens = sum(len(tokens_of(line)) for line in sample)
        return model.bits(sample) / max(tokens, 1)

    def _scored(self, function, functions, project, hints, weights, model, typical) -> list[Candidate]:
        lines = frozenset(line for path, line in weights if path == function.path)
        seen = self.observed.of(function.path, function.name, function.first)
        found = list(suggestions_for(function, functions, project, hints, lines, seen))
        kinds = Context(function, project, hints, lines, seen).kinds
        unread = idle(function.tree) - {"self", "cls", "_"}
        near = [each for each in hints.crashes if each.path == function.path and _holds(function, each.line)]
        inside = tuple(each for each in near if each.inner) or tuple(near)
        crowd = Counter((each.template, each.at) for each in found)
        kin = Counter(each.template for each in found)
        best = max(weights.get((function.path, line), 0.0) for line in range(function.first, function.last + 1))
        crashes = blamed(function, hints.crashes, hints.exceptions_in_tests)
        result = []
        for each in found:
            place = weights.get((function.path, each.at), best * UNSEEN)
            if each.template == "default":
                place = best * 0.5
            old = list(function.lines[each.first - function.first : each.last - function.first + 1])
            extra = sum(len(tokens_of(line)) for line in each.new) - sum(len(tokens_of(line)) for line in old)
            # Only part of the bits is given back, so that growing the code must be worth it.
            gain = max(-9.0, min(9.0, model.gain(old, list(each.new)) + LENGTH * typical * extra))
            if extra < 0:
                gain = min(gain, SHRINK)
            score = (
                PLACE * math.log(max(place, 1e-9))
                + crashes.get(each.at, 0.0)
                + PRIORS[each.template]
                + BONUS * min(each.bonus, MOST_BONUS)
                + NATURAL * gain
            )
            score += FIT * sum(FITS.get(kind, {}).get(each.template, 0.0) for kind in hints.kinds)
            score -= CROWD * math.log(crowd[each.template, each.at]) + CROWD_IN_FUNCTION * math.log(kin[each.template])
            taken_up = unread & (_words(each.new) - _words(old))
            score += max(
                (PARAMETER_READ if name in function.parameters else LOCAL_READ for name in taken_up), default=0
            )
            score += self._noise(function, each)
            result.append(Candidate(each, function, score, gain, kinds, inside))
        return result

    def _noise(self, function: Function, suggestion: Suggestion) -> float:
        """Gumbel noise, drawn per function, per template and per suggestion from the seed alone."""
        parts = (
            (0.15, (function.path, function.name)),
            (0.15, (function.path, suggestion.at)),
            (0.15, (suggestion.template,)),
            (0.15, (suggestion.path, suggestion.first, suggestion.new)),
        )
        return self._temperature * sum(weight * _gumbel(f"{self._seed}:{key!r}") for weight, key in parts)

    def next(self) -> Candidate | None:
        """The best candidate that was not tried; lines and templates that were tried in vain fall back."""
        best: Candidate | None = None
        best_score = -math.inf
        for each in self._candidates:
            if each.score <= best_score:
                break
            suggestion = each.suggestion
            if (suggestion.path, suggestion.new, suggestion.first, suggestion.last) in self._tried:
                continue
            score = each.score - self._line_tries[suggestion.path, suggestion.at]
            score -= TEMPLATE_TRIED * self._template_tries[function_key(each), suggestion.template]
            if score > best_score:
                score -= each.doubt
            if score > best_score:
                best, best_score = each, score
        if best is not None:
            suggestion = best.suggestion
            self._tried.add((suggestion.path, suggestion.new, suggestion.first, suggestion.last))
            self._template_tries[function_key(best), suggestion.template] += 1
        return best

    def tried_in_vain(self, candidate: Candidate, *, changed: bool) -> None:
        """Learn from a try; `changed`: the tests failed in another way than before, so the line does matter."""
        suggestion = candidate.suggestion
        self._line_tries[suggestion.path, suggestion.at] += LINE_TRIED if changed else LINE_IDLE

    def top(self, count: int) -> list[Candidate]:
        return self._candidates[:count]


def function_key(candidate: Candidate) -> str:
    return f"{candidate.function.path}:{candidate.function.name}"


def _suspicion(function: Function, weights: Mapping[tuple[str, int], float]) -> float:
    return sum(weights.get((function.path, line), 0.0) for line in range(function.first, function.last + 1))


def _holds(function: Function, line: int) -> bool:
    return function.first <= line <= function.last


def _words(lines: Iterable[str]) -> set[str]:
    return {token for line in lines for token in tokens_of(line)}


def _gumbel(key: str) -> float:
    draw = random.Random(key).random()
    return -math.log(-math.log(min(max(draw, 1e-9), 1 - 1e-9)))
