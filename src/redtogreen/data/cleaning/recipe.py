"""Cleaning recipes: versioned TOML files that say which rules run, in which order.

name = "default"
version = 1
summary = "one sentence"

[[rule]]
name = "invalid"          # always the first: no other rule can read a broken row

[[rule]]
name = "max_steps"        # further keys are the rule's parameters
limit = 50
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.data.cleaning.rules import Rule, make_rule
from redtogreen.errors import UsageError, nearest
from redtogreen.records.canonical import digest


class CleaningRecipe(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Rules in order."""

    name: str
    version: int
    summary: str = ""
    rule: tuple[dict[str, Any], ...] = ()
    """Each with its `name` and its parameters, as in the file."""
    text: str = ""
    """The file as it was read."""

    @property
    def digest(self) -> str:
        """`sha256:<hex>` of the file."""
        return digest(self.text.encode())

    def rules(self, where: str | None = None) -> list[Rule]:
        """The rules, ready to run. Raises UsageError for unknown rules and parameters."""
        where = where or f"cleaning recipe {self.name}"
        made = []
        for entry in self.rule:
            name = entry.get("name")
            if not isinstance(name, str):
                raise UsageError(f"{where}: a rule has no name", 'write: [[rule]] and below it name = "max_steps"')
            made.append(make_rule(name, {key: value for key, value in entry.items() if key != "name"}, where))
        if not made or made[0].name != "invalid":
            raise UsageError(f"{where}: the first rule must be `invalid`", "other rules cannot read a broken row")
        names = [rule.name for rule in made]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"{where}: rule {twice!r} stands there twice", "each rule writes its own rejects file")
        return made


def list_cleaning_recipes() -> list[str]:
    """Names of the built-in cleaning recipes, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))


def load_cleaning_recipe(name_or_path: str | Path) -> CleaningRecipe:
    """A built-in recipe by name, or one from a file (a name ending in `.toml` or holding a slash).

    Raises UsageError for an unknown name or file, and for a recipe that breaks its form.
    """
    name = str(name_or_path)
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"no cleaning recipe at {path}", f"built in: {', '.join(list_cleaning_recipes())}")
        return parse_cleaning_recipe(path.read_bytes(), str(path))
    known = list_cleaning_recipes()
    if name not in known:
        close = nearest(name, known)
        raise UsageError(
            f"unknown cleaning recipe {name!r}",
            (f"did you mean {close!r}? " if close else "") + f"built in: {', '.join(known)}; a file ends in .toml",
        )
    return parse_cleaning_recipe((_folder() / f"{name}.toml").read_bytes(), f"{name}.toml")


def parse_cleaning_recipe(content: bytes, where: str) -> CleaningRecipe:
    """A recipe from the content of its file; `where` names it in errors."""
    where = f"cleaning recipe {where}"
    try:
        text = content.decode()
        recipe = msgspec.convert({**tomllib.loads(text), "text": text}, CleaningRecipe)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} is not valid TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}", "a recipe has name, version, summary and [[rule]] entries") from None
    recipe.rules(where)
    return recipe


def _folder():
    return resources.files("redtogreen.data.cleaning") / "recipes"
