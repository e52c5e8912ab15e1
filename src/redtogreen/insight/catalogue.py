"""What there is to choose from, each name with one line on what it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from redtogreen import registry
from redtogreen.errors import UsageError, nearest


def entries(kind: str) -> dict[str, str]:
    """Names of one kind, sorted -> what each is. Raises UsageError for an unknown kind."""
    if kind not in KINDS:
        close = nearest(kind, KINDS)
        raise UsageError(
            f"nothing to list under {kind!r}",
            (f"did you mean {close!r}? " if close else "") + f"There are: {', '.join(KINDS)}",
        )
    return dict(sorted(KINDS[kind]().items()))


def _agents() -> dict[str, str]:
    return {name: _about("agents", name) for name in registry.names("agents")}


def _rewards() -> dict[str, str]:
    from redtogreen.rewards import component_names, find_component

    found = {}
    for name in component_names():
        try:
            found[name] = find_component(name).meaning
        except UsageError as error:
            found[name] = error.message
    return found


def _filters() -> dict[str, str]:
    from redtogreen.data.cleaning.rules import BUILT_IN

    built_in = {name: _first_line(rule) for name, rule in BUILT_IN.items()}
    return built_in | {name: _about("filters", name) for name in registry.names("filters")}


def _exports() -> dict[str, str]:
    from redtogreen.data.exports.exporting import BUILT_IN

    built_in = {name: _first_line(writer) for name, writer in BUILT_IN.items()}
    return built_in | {name: _about("exports", name) for name in registry.names("exports")}


def _operators() -> dict[str, str]:
    from redtogreen.mutation import OPERATORS

    return {operator.name: operator.mistake for operator in OPERATORS.values()}


def _sources() -> dict[str, str]:
    from redtogreen.insight.sources import SOURCES

    return {source.name: source.about for source in SOURCES}


def _recipes() -> dict[str, str]:
    from redtogreen.data.cleaning import list_cleaning_recipes, load_cleaning_recipe
    from redtogreen.rewards import list_recipes, load_recipe

    found = {name: f"reward: {load_recipe(name).summary}" for name in list_recipes()}
    for name in list_cleaning_recipes():
        said = f"cleaning: {getattr(load_cleaning_recipe(name), 'summary', '') or 'rules in order'}"
        found[name] = f"{found[name]} / {said}" if name in found else said
    return found


def _about(group: str, name: str) -> str:
    try:
        return _first_line(registry.load(group, name))
    except UsageError as error:
        return error.message


def _first_line(thing: Any) -> str:
    text = getattr(thing, "meaning", None) or inspect.getdoc(thing) or ""
    first = text.strip().split("\n\n")[0].replace("\n", " ")
    return first.partition(" Raises ")[0] or "(says nothing of itself)"


KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "agents": _agents,
    "exports": _exports,
    "filters": _filters,
    "operators": _operators,
    "recipes": _recipes,
    "rewards": _rewards,
    "sources": _sources,
}
