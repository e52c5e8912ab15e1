"""What an environment is made of, as data: equal specifications give equal environments, wherever they are built."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from redtogreen.errors import EnvironmentUnavailable, RecordError
from redtogreen.records.canonical import canonical_json, digest

VERSION = 1


class Pytest(msgspec.Struct, forbid_unknown_fields=True):
    """What a project needs of pytest."""

    plugins: list[str] = []
    """Modules loaded as plugins, besides pytest's own."""
    ignore_addopts: bool = False
    """The configured `addopts` cannot be used: they name an option of a plugin that is not there."""


class Specification(msgspec.Struct, forbid_unknown_fields=True):
    """Holds no path of the host and no time."""

    python: str
    """Such as "3.11": a patch release more or less is the same environment."""
    implementation: str
    base: dict[str, str]
    """Name -> version of what every environment has."""
    requirements: dict[str, str]
    """Name -> version of what this project needs besides."""
    import_roots: list[str]
    project: dict[str, Any]
    """`name`, `version`, `packages`, `requires` and `entry_points` for importlib.metadata."""
    pytest: Pytest = msgspec.field(default_factory=Pytest)
    schema: int = VERSION

    def encode(self) -> bytes:
        """Canonical JSON."""
        return canonical_json(self)

    @property
    def hash(self) -> str:
        """`sha256:...`"""
        return digest(self.encode())


def this_python() -> tuple[str, str]:
    """Version (major.minor) and implementation of the interpreter environments are built with."""
    return f"{sys.version_info.major}.{sys.version_info.minor}", sys.implementation.name


def decode(spec: bytes) -> Specification:
    """Read a specification. Raises RecordError when it is none, EnvironmentUnavailable when it needs another Python."""
    try:
        specification = msgspec.json.decode(spec, type=Specification)
    except msgspec.MsgspecError as error:
        raise RecordError(f"not the specification of an environment: {error}") from None
    if specification.schema != VERSION:
        raise RecordError(
            f"the specification of an environment has version {specification.schema}, known is {VERSION}",
            "use the release of redtogreen that made the tasks, or a newer one",
        )
    wanted, here = (specification.python, specification.implementation), this_python()
    if wanted != here:
        raise EnvironmentUnavailable(
            f"this environment needs {wanted[1]} {wanted[0]}, and redtogreen runs on {here[1]} {here[0]}",
            f"install redtogreen for Python {wanted[0]} and run the command with that",
        )
    return specification
