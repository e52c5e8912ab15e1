"""run.toml -> typed settings of a whole chain. A flag beats the environment, that the file, that a default.

    seed = 0
    out = "runs/first"

    [[tasks]]
    source = "mutate"
    path = "projects/toolz"
    candidates = 40

    [collect]
    agent = "repair"
    attempts = 3

    [reward]
    recipe = "default"

    [clean]
    recipe = "default"

    [dataset]
    name = "first"

REDTOGREEN_WORKERS and REDTOGREEN_SEED are the environment variables among the settings.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from redtogreen.errors import UsageError, nearest

VARIABLES = {
    "REDTOGREEN_WORKERS": "Processes at once, for `redtogreen run`; beats the file.",
    "REDTOGREEN_SEED": "Seed of a whole run, for `redtogreen run`; beats the file.",
    "REDTOGREEN_HOME": "Folder of caches that can be made again: environments, unpacked trees, scratch folders. "
    "Default: `$XDG_CACHE_HOME/redtogreen`, else `~/.cache/redtogreen`.",
    "REDTOGREEN_TRACEBACK": "Set to anything: an error is shown with its traceback.",
    "NO_COLOR": "Set to anything: no colour on stderr.",
}
"""Environment variable -> what it does."""


class TaskSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One source of tasks."""

    source: str
    """Name of the source, for example `mutate`."""
    path: str
    """Folder, git checkout or sdist, relative to the settings file."""
    candidates: int = 100
    """How many candidates to make before anything is run."""
    tests: list[str] = []
    """Test paths, for source `folder`."""
    reference: str | None = None
    """Solved copy, for source `folder`."""
    describe: str | None = None
    """Task description, for source `folder`."""


class CollectSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Who works on the tasks, and how often."""

    agent: str = "repair"
    attempts: int = 3
    """Attempts per task."""
    workers: int | None = None
    """Processes at once; None: one per core."""
    temperature: float | None = None
    """None: the agent's own default."""
    options: dict[str, str] = {}
    """Options of the agent."""
    require: list[str] = []
    """Guarantees (`redtogreen doctor` lists them) without which the run is refused."""


class RewardSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which reward recipe scores the attempts."""

    recipe: str = "default"


class CleanSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which cleaning recipe decides what is kept."""

    recipe: str = "default"


class DatasetSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The dataset version made at the end."""

    name: str = "dataset"
    root: str = "datasets"
    """Folder of datasets, relative to the settings file."""
    eval_share: float = 0.2
    """Share of the rows, by whole projects, that goes to the split `eval`; in [0, 1)."""


class ChainSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole run: sources, agent, rewards, cleaning, dataset."""

    seed: int = 0
    """Everything drawn at random is derived from it."""
    out: str = "runs/run"
    """Folder of the run."""
    tasks: list[TaskSettings]
    collect: CollectSettings = field(default_factory=CollectSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    clean: CleanSettings = field(default_factory=CleanSettings)
    dataset: DatasetSettings = field(default_factory=DatasetSettings)


def load_settings(path: Path, *, environment: Mapping[str, str] = os.environ) -> ChainSettings:
    """Settings of a file; relative paths count from its folder. Raises UsageError naming file and field."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"no settings file at {path}", "write one like docs/configuration.md shows") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    settings = from_mapping(raw, str(path))
    base = path.absolute().parent
    for source in settings.tasks:
        source.path = str(base / source.path)
        source.reference = None if source.reference is None else str(base / source.reference)
    settings.out = str(base / settings.out)
    settings.dataset.root = str(base / settings.dataset.root)
    if workers := environment.get("REDTOGREEN_WORKERS"):
        settings.collect.workers = _whole(workers, "REDTOGREEN_WORKERS")
    if seed := environment.get("REDTOGREEN_SEED"):
        settings.seed = _whole(seed, "REDTOGREEN_SEED")
    return settings


def from_mapping(raw: Mapping[str, Any], where: str) -> ChainSettings:
    """Typed settings of plain values; `where` names them in errors."""
    try:
        return msgspec.convert(raw, ChainSettings)
    except msgspec.ValidationError as error:
        hint = "See: docs/configuration.md"
        if unknown := re.search(r"unknown field `([^`]*)`", str(error)):
            known = {name for kind in _KINDS for name in kind.__struct_fields__}
            close = nearest(unknown[1], known)
            hint = (f"did you mean `{close}`? " if close else "") + hint
        raise UsageError(f"{where}: {error}", hint) from None


def to_toml(settings: ChainSettings) -> str:
    """Settings as a file that runs again."""
    raw = {key: value for key, value in msgspec.to_builtins(settings).items() if value is not None}
    return msgspec.toml.encode(_without_none(raw)).decode()


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return value


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{name} must be a whole number, found {text!r}") from None


_KINDS = (ChainSettings, TaskSettings, CollectSettings, RewardSettings, CleanSettings, DatasetSettings)
