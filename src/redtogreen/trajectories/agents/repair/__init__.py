"""Program repair without a model: fault localisation, edit templates, and what is natural in the project at hand."""

from __future__ import annotations

from redtogreen.errors import UsageError, nearest
from redtogreen.protocols import AgentSettings
from redtogreen.trajectories.agents.repair.agent import Repair

OPTIONS = {"shuffle_places": ("no", "yes")}
"""`shuffle_places=yes` is the control: everything equal, but the ranking of places is dealt out at random, and
what crashes tell about places is left out."""


def build(settings: AgentSettings) -> Repair:
    """Program repair without a model: locates by coverage, tries repairs people make. Raises UsageError for an unknown
    option."""
    for name, value in settings.options.items():
        if name not in OPTIONS:
            close = nearest(name, OPTIONS)
            raise UsageError(
                f"agent repair has no option {name!r}",
                f"did you mean {close!r}?" if close else f"options: {list(OPTIONS)}",
            )
        if value not in OPTIONS[name]:
            raise UsageError(f"option {name} of agent repair takes {' or '.join(OPTIONS[name])}, found {value!r}")
    return Repair(settings)
