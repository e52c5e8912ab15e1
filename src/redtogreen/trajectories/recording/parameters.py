"""Which parameters each canonical action takes; a wrong request is answered with what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redtogreen.errors import nearest


@dataclass(frozen=True)
class Parameters:
    """Names and types of one action's parameters."""

    required: Mapping[str, type]
    optional: Mapping[str, type]
    changes: bool = False
    """Whether the action edits files."""


MAX_SECONDS = 86_400

PARAMETERS: dict[str, Parameters] = {
    "list_files": Parameters({}, {"path": str, "pattern": str}),
    "search_text": Parameters({"pattern": str}, {"path": str, "regex": bool}),
    "search_symbol": Parameters({"keyword": str}, {"file": str}),
    "open_file": Parameters({"path": str}, {"start_line": int, "end_line": int}),
    "edit_file": Parameters({"path": str, "start_line": int, "end_line": int, "new_content": str}, {}, changes=True),
    "create_file": Parameters({"path": str, "content": str}, {}, changes=True),
    "delete_file": Parameters({"path": str}, {}, changes=True),
    "run_command": Parameters({"cmd": str}, {"seconds": float}),
    "run_test": Parameters({}, {"tests": list, "coverage": bool, "seconds": float}),
    "run_lint": Parameters({}, {"paths": list}),
    "write_plan": Parameters({"text": str}, {}),
    "submit": Parameters({}, {"text": str}),
}


def problem_with(action: str, params: Mapping[str, Any]) -> str | None:
    """What is wrong with a request, with the nearest right name; None: nothing."""
    known = PARAMETERS.get(action)
    if known is None:
        close = nearest(action, PARAMETERS)
        return f"unknown action {action!r}" + (f"; did you mean {close!r}?" if close else "")
    names = {**known.required, **known.optional}
    takes = f"{action} takes {', '.join(names) or 'no parameters'}"
    for name, value in params.items():
        if name not in names:
            close = nearest(name, names)
            return f"unknown parameter {name!r}: " + (f"did you mean {close!r}? " if close else "") + takes
        if value is None and name in known.optional:
            continue
        if not _fits(value, names[name]):
            if names[name] is float and isinstance(value, int | float):
                return f"parameter {name!r} must be above 0 and at most {MAX_SECONDS}, found {value}"
            return f"parameter {name!r} must be of type {names[name].__name__}, found {type(value).__name__}"
        if problem := _unusable(name, value):
            return problem
    missing = [name for name in known.required if name not in params]
    return f"parameter {missing[0]!r} is missing: {takes}" if missing else None


MAX_TEXT = 2 * 2**20
"""Characters one parameter may have."""


def _unusable(name: str, value: Any) -> str | None:
    """What a sandbox could not take: NUL characters and texts without end."""
    for text in value if isinstance(value, list | tuple) else [value]:
        if isinstance(text, str):
            if len(text) > MAX_TEXT:
                return f"parameter {name!r} has {len(text)} characters, more than {MAX_TEXT}"
            if "\0" in text and name not in ("content", "new_content", "text"):
                return f"parameter {name!r} holds a NUL character"
    return None


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_SECONDS
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is list:
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, kind)
