"""The bytes a content hash covers: stable key order, volatile facts left out, unstable texts normalised."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from redtogreen.records.trajectory import Trajectory

_NORMALISE = (
    ("0x", re.compile(r"\b0x[0-9a-fA-F]{6,16}\b"), "0x0"),
    (" in ", re.compile(r"(?<= in )\d+\.\d+s(?: \(\d+:\d\d:\d\d\))?"), "0.00s"),
    ("s", re.compile(r"\b\d+\.\d+ ?(?:seconds|secs|sec|ms)\b"), "0.00s"),
    ("/tmp/", re.compile(r"/tmp/(?:pytest-of-[\w.-]+/pytest-\d+|tmp[\w-]{6,12})"), "/tmp/T"),
)
"""(what must occur for the pattern to match, pattern, replacement)"""

_VOLATILE_METADATA = ("started", "seconds", "sandbox", "recorder")


def digest(content: bytes) -> str:
    """`sha256:<hex>` of some bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    return msgspec.json.encode(msgspec.to_builtins(value), order="sorted")


def normalise(text: str) -> str:
    """A text without memory addresses, durations and temporary paths."""
    for sign, pattern, replacement in _NORMALISE:
        if sign in text:
            text = pattern.sub(replacement, text)
    return text


def canonical_trajectory(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as plain objects, volatile facts left out and texts normalised: equal for equal behaviour."""
    row = msgspec.to_builtins(trajectory)
    for name in _VOLATILE_METADATA:
        row.get("metadata", {}).pop(name, None)
    row["final_state"].pop("changes", None)
    for step in row["trajectory"]:
        step.pop("seconds", None)
        step.pop("changes", None)
        step.get("observation", {}).pop("seconds", None)
        step.get("observation", {}).pop("full", None)
    return _normalised(row)


def _normalised(value: Any) -> Any:
    if isinstance(value, str):
        return normalise(value)
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if isinstance(value, dict):
        return {key: _normalised(item) for key, item in value.items()}
    return value
