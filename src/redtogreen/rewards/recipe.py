"""Reward recipes: versioned TOML files that say which components count and how much.

name = "outcome"
version = 1
summary = "one sentence"
warning = "printed wherever the recipe is used"   # may be missing
tampered = 0.0                                    # what an attempt that tampered is paid

[[component]]
name = "resolved"
weight = 1.0
"""

from __future__ import annotations

import math
import tomllib
from importlib import resources
from pathlib import Path

import msgspec

from redtogreen.errors import UsageError, nearest
from redtogreen.records.canonical import digest
from redtogreen.rewards.components import find_component


class RecipeComponent(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One component and its weight."""

    name: str
    weight: float


class Recipe(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """`reward = sum of weight x component`, unless a gate replaces it."""

    name: str
    version: int
    summary: str = ""
    warning: str | None = None
    """What whoever uses the recipe must know; None: nothing."""
    tampered: float = 0.0
    """Reward of an attempt whose outcome is `tampered`."""
    components: tuple[RecipeComponent, ...] = msgspec.field(name="component", default=())
    text: str = ""
    """The file as it was read."""

    @property
    def digest(self) -> str:
        """`sha256:<hex>` of the file."""
        return digest(self.text.encode())


def list_recipes() -> list[str]:
    """Names of the built-in recipes, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))


def load_recipe(name_or_path: str | Path) -> Recipe:
    """A built-in recipe by name, or one from a file (a name ending in `.toml` or holding a slash).

    Raises UsageError for an unknown name or file, a recipe that breaks its form, and unknown components.
    """
    name = str(name_or_path)
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"no reward recipe at {path}", "See: redtogreen recipe list")
        try:
            return parse_recipe(path.read_text("utf-8"), str(path))
        except UnicodeDecodeError as error:
            raise UsageError(f"reward recipe {path} is not UTF-8: {error}") from None
    known = list_recipes()
    if name not in known:
        close = nearest(name, known)
        raise UsageError(
            f"unknown reward recipe {name!r}",
            (f"did you mean {close!r}? " if close else "") + "See: redtogreen recipe list",
        )
    return parse_recipe((_folder() / f"{name}.toml").read_text("utf-8"), f"{name}.toml")


def parse_recipe(text: str, where: str) -> Recipe:
    """A recipe from the text of its file; `where` names it in errors."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"reward recipe {where} is not valid TOML: {error}") from None
    try:
        recipe = msgspec.convert({**raw, "text": text}, Recipe)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"reward recipe {where}: {error}", "See: redtogreen recipe show default, for the fields a recipe has"
        ) from None
    if not recipe.components:
        raise UsageError(f"reward recipe {where} has no component", "See: redtogreen list rewards")
    seen: set[str] = set()
    for part in recipe.components:
        try:
            find_component(part.name)
        except UsageError as error:
            raise UsageError(f"reward recipe {where}: {error.message}", error.hint) from error
        if part.name in seen:
            raise UsageError(f"reward recipe {where}: component {part.name!r} stands there twice")
        if not math.isfinite(part.weight):
            raise UsageError(f"reward recipe {where}: weight of {part.name!r} must be a finite number")
        seen.add(part.name)
    if not math.isfinite(recipe.tampered):
        raise UsageError(f"reward recipe {where}: `tampered` must be a finite number")
    return recipe


def _folder():
    return resources.files("redtogreen.rewards") / "recipes"
