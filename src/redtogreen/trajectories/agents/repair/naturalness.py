"""How natural a line of code is among the project's own: token n-grams of what has been read.

Interpolated n-grams with Witten-Bell weights over tokens, mixed from two views of the code: tokens as they stand, and
shapes, where identifiers are blanked out and then drawn by their own frequency.
Bugs make code less natural (Ray et al. 2016, "On the naturalness of buggy code").
"""

from __future__ import annotations

import io
import keyword
import math
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

ORDER = 4
_SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
START, END = "<line>", "</line>"


@lru_cache(maxsize=50_000)
def _tokens(line: str) -> tuple[str, ...]:
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(line + "\n").readline):
            if token.type not in _SKIPPED:
                found.append('"..."' if token.type == tokenize.STRING and len(token.string) > 24 else token.string)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return tuple(found or line.split())
    return tuple(found)


def tokens_of(line: str) -> list[str]:
    """The tokens of one logical line; what cannot be read as tokens is split at spaces."""
    return list(_tokens(line.strip()))


@lru_cache(maxsize=50_000)
def shape(token: str) -> str:
    """A token with what is special to its place blanked out."""
    if token.isidentifier() and not keyword.iskeyword(token) and token not in ("self", "cls", "len", "isinstance"):
        return "name"
    if token[:1] in "'\"":
        return "text"
    return token


class _Grams:
    """Counts of what follows each context of up to ORDER - 1 tokens."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.totals: Counter[tuple[str, ...]] = Counter()

    def add(self, tokens: list[str], times: int) -> None:
        padded = [START] * (ORDER - 1) + tokens + [END]
        for index in range(ORDER - 1, len(padded)):
            for size in range(ORDER):
                context = tuple(padded[index - size : index])
                counter = self.counts[context]
                counter[padded[index]] += times
                self.totals[context] += times
                if counter[padded[index]] <= 0:
                    del counter[padded[index]]

    def probabilities(self, tokens: list[str], floor: float) -> list[float]:
        """Probability of each token and of the end; `floor`: of a token never seen."""
        padded = [START] * (ORDER - 1) + tokens + [END]
        found = []
        for index in range(ORDER - 1, len(padded)):
            token, probability = padded[index], floor
            for size in range(ORDER):
                counter = self.counts.get(tuple(padded[index - size : index]))
                if not counter:
                    break
                seen, kinds = self.totals[tuple(padded[index - size : index])], len(counter)
                probability = (counter[token] + kinds * probability) / (seen + kinds)
            found.append(probability)
        return found


class Naturalness:
    """A model of the code read so far."""

    def __init__(self, lines: Iterable[str] = ()):
        self._exact, self._shape = _Grams(), _Grams()
        self._members: dict[str, Counter[str]] = defaultdict(Counter)
        """Shape -> the tokens that have it."""
        self._learnt: Counter[str] = Counter()
        for line in lines:
            self.add(line)

    def add(self, line: str, times: int = 1) -> None:
        """Learn one line; `times` -1 forgets it again."""
        tokens = tokens_of(line)
        if tokens:
            self._learnt[line.strip()] += times
            self._exact.add(tokens, times)
            self._shape.add([shape(token) for token in tokens], times)
            for token in tokens:
                self._members[shape(token)][token] += times

    def bits(self, lines: Iterable[str]) -> float:
        """How surprising some lines are, in bits (negative log2 of their probability)."""
        return sum(self._line_bits(tokens_of(line)) for line in lines)

    def _line_bits(self, tokens: list[str]) -> float:
        if not tokens:
            return 0.0
        shapes = [shape(token) for token in tokens]
        exact = self._exact.probabilities(tokens, 1 / 2000)
        blank = self._shape.probabilities(shapes, 1 / 200)
        total = 0.0
        for index, (left, right) in enumerate(zip(exact, blank, strict=True)):
            if index < len(tokens):
                members = self._members.get(shapes[index]) or Counter()
                right *= (members[tokens[index]] + 0.5) / (members.total() + 0.5 * (len(members) + 1))
            total -= math.log2((left + right) / 2)
        return total

    def gain(self, old: list[str], new: list[str]) -> float:
        """How many bits more natural `new` is than `old`, with `old` unlearnt while it is judged."""
        same = [line for line in old if line in new]
        gone, come = [line for line in old if line not in same], [line for line in new if line not in same]
        known = [line for line in dict.fromkeys(gone) if self._learnt[line.strip()] > 0]
        for line in known:
            self.add(line, -1)
        try:
            return self.bits(gone) - self.bits(come)
        finally:
            for line in known:
                self.add(line)
