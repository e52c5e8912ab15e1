"""The canonical actions as function tools, in the JSON schema form that chat templates expect."""

from __future__ import annotations

from typing import Any

from redtogreen.records import ACTIONS

_TEXT = {"type": "string"}
_LINE = {"type": "integer", "minimum": 1}

_DESCRIBED: dict[str, tuple[str, dict[str, Any]]] = {
    "list_files": ("List the files below a folder.", {"path": _TEXT}),
    "search_text": ("Find lines that contain a text.", {"keyword": _TEXT, "path": _TEXT}),
    "search_symbol": ("Find where a function, class or name is defined.", {"keyword": _TEXT, "file": _TEXT}),
    "open_file": ("Read a file or some of its lines.", {"path": _TEXT, "start_line": _LINE, "end_line": _LINE}),
    "edit_file": (
        "Replace lines of a file.",
        {"path": _TEXT, "start_line": _LINE, "end_line": _LINE, "new_content": _TEXT},
    ),
    "create_file": ("Write a new file.", {"path": _TEXT, "content": _TEXT}),
    "delete_file": ("Delete a file.", {"path": _TEXT}),
    "run_command": ("Run a shell command in the workspace.", {"cmd": _TEXT}),
    "run_test": ("Run tests.", {"tests": {"type": "array", "items": _TEXT}}),
    "run_lint": ("Run the linter.", {"path": _TEXT}),
    "write_plan": ("Write down the plan.", {"plan": _TEXT}),
    "submit": ("Hand in the work.", {}),
    "other": ("Something else; see the arguments.", {}),
}


def tool_schemas(actions: set[str]) -> list[dict[str, Any]]:
    """One function tool per action, in the order of the action list. Parameters are open: producers add their own."""
    return [
        {
            "type": "function",
            "function": {
                "name": action,
                "description": _DESCRIBED[action][0],
                "parameters": {"type": "object", "properties": _DESCRIBED[action][1], "required": []},
            },
        }
        for action in ACTIONS
        if action in actions
    ]
