"""What a reward component is and what it says about one trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from redtogreen.records import Evidence, Trajectory

Number = Fraction | float | int


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one component saw in one trajectory."""

    value: Number | None
    """In the component's unit and range, unweighted; None: nothing to measure, which means no reward at all."""
    evidence: list[Evidence] = field(default_factory=list)
    placed: Sequence[Number] | None = None
    """Share of the value that belongs to each step, one number per step; None: belongs to no single step.
    What the steps leave over falls to the last one."""


class Component(Protocol):
    """One named number, with what the built-in ones say beyond `protocols.RewardComponent`.

    Plugins in the group `redtogreen.rewards` may leave out `unit`, and give a `protocols.Measurement`, which places
    nothing.
    """

    @property
    def name(self) -> str: ...

    @property
    def low(self) -> float:
        """Smallest value. A component with low = high = 0 only places credit: its steps must sum to nothing."""
        ...

    @property
    def high(self) -> float: ...

    @property
    def unit(self) -> str:
        """What one unit of the value is, for example `edits`."""
        ...

    @property
    def meaning(self) -> str:
        """The behaviour the number stands for, in one sentence."""
        ...

    def measure(self, trajectory: Trajectory) -> Measurement:
        """The number, from the stored trajectory alone: equal trajectories give equal numbers."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionComponent:
    """A component whose measuring is one function."""

    name: str
    low: float
    high: float
    unit: str
    meaning: str
    function: Callable[[Trajectory], Measurement]

    def measure(self, trajectory: Trajectory) -> Measurement:
        return self.function(trajectory)


def exact(number: Number) -> Fraction:
    """The rational number a person wrote: 0.2 is one fifth, not the nearest binary fraction."""
    return Fraction(float.__repr__(number)) if isinstance(number, float) else Fraction(number)
