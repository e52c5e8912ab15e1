"""Every reward component by name: the built-in ones, then those of plugins (entry points `redtogreen.rewards`)."""

from __future__ import annotations

from redtogreen import registry
from redtogreen.errors import UsageError, nearest
from redtogreen.rewards.measurement import Component
from redtogreen.rewards.outcome import CLASSIC_BASE, PASS_FRACTION, RESOLVED
from redtogreen.rewards.process import PROCESS
from redtogreen.rewards.shaping import PROGRESS

BUILT_IN: dict[str, Component] = {
    component.name: component for component in (RESOLVED, PASS_FRACTION, CLASSIC_BASE, PROGRESS, *PROCESS)
}
_ATTRIBUTES = ("name", "low", "high", "meaning", "measure")


def component_names() -> list[str]:
    """Names of all components a recipe may use, sorted."""
    return sorted({*BUILT_IN, *registry.names("rewards")})


def find_component(name: str) -> Component:
    """The component of a name, or of `module:object`.

    Raises UsageError for an unknown name, with the nearest known one, and for a plugin that lacks an attribute.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name not in registry.names("rewards") and ":" not in name:
        close = nearest(name, component_names())
        raise UsageError(
            f"unknown reward component {name!r}",
            (f"did you mean {close!r}? " if close else "") + "See: redtogreen list rewards",
        )
    plugin = registry.load("rewards", name)
    if missing := [attribute for attribute in _ATTRIBUTES if not hasattr(plugin, attribute)]:
        raise UsageError(
            f"reward component {name!r} has no attribute {missing[0]!r}",
            f"the fault lies in that plugin; a component has {', '.join(_ATTRIBUTES)}",
        )
    return plugin
