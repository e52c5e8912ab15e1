"""The canonical actions as function tools, in the JSON schema form that chat templates expect."""

from __future__ import annotations

from typing import Any

from redtogreen.records import ACTIONS
from redtogreen.trajectories.recording.parameters import PARAMETERS

_DESCRIBED = {
    "list_files": "List the files below a folder.",
    "search_text": "Find lines that contain a text.",
    "search_symbol": "Find where a function, class or name is defined.",
    "open_file": "Read a file or some of its lines.",
    "edit_file": "Replace lines of a file.",
    "create_file": "Write a new file.",
    "delete_file": "Delete a file.",
    "run_command": "Run a shell command in the workspace.",
    "run_test": "Run tests; null runs all of them.",
    "run_lint": "Run the linter.",
    "write_plan": "Write down the plan.",
    "submit": "Hand in the work.",
    "other": "Something else; see the arguments.",
}
_TYPES: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": {"type": "string"}},
}


def tool_schemas(actions: set[str]) -> list[dict[str, Any]]:
    """One function tool per action, in the order of the action list, with the parameters the workspace checks."""
    return [
        {
            "type": "function",
            "function": {
                "name": action,
                "description": _DESCRIBED[action],
                "parameters": _parameters(action),
            },
        }
        for action in ACTIONS
        if action in actions
    ]


def _parameters(action: str) -> dict[str, Any]:
    known = PARAMETERS.get(action)
    if known is None:
        return {"type": "object", "properties": {}, "required": []}
    properties = {name: _TYPES[kind] for name, kind in known.required.items()}
    for name, kind in known.optional.items():
        properties[name] = {**_TYPES[kind], "type": [_TYPES[kind]["type"], "null"]}
    return {"type": "object", "properties": properties, "required": list(known.required)}
