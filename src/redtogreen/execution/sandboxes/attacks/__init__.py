"""Attacks on a sandbox, as data: what each tries, what is seen when it is stopped, and a control that shows it works.

Only `running.attempt` runs them, in a sandbox that a harmless probe has just proven; every payload refuses on its own
to run anywhere else. None could harm a host even there: sizes are small, values written are those already there, and
all that is left running ends by itself.
"""

from __future__ import annotations

from .attack import Attack, Control, Setting
from .kernel import ATTACKS as KERNEL
from .reach import ATTACKS as REACH
from .remains import ATTACKS as REMAINS
from .running import Outcome, attempt, leftovers
from .usage import ATTACKS as USAGE

ATTACKS: tuple[Attack, ...] = (*USAGE, *REMAINS, *REACH, *KERNEL)

__all__ = ["ATTACKS", "Attack", "Control", "Outcome", "Setting", "attempt", "leftovers"]
