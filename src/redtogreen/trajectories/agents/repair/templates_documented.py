"""Repairs that the documentation asks for: defaults and returned values that a docstring states."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from redtogreen.trajectories.agents.repair.suggestions import Context, Suggestion, replace

_DEFAULT = re.compile(r"[Dd]efault(?:s|ing)?(?:\s+(?:is|to|value))*[\s:]+[`*]*(?P<value>[\w.'\"-]+)[`*]*")


def default(c: Context) -> Iterator[Suggestion]:
    """Defaults of parameters: as documented, or the nearest other value."""
    documented = [found["value"].strip(".") for found in _DEFAULT.finditer(c.function.docstring)]
    arguments = c.function.tree.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    for argument, node in pairs:
        now = c.function.text(node)
        for value in documented:
            if value != now and _is_value(value):
                near = argument.arg in c.function.docstring
                yield replace(c, node, value, "default", 1.0 + near)
        if isinstance(node, ast.Constant):
            others = {bool: ("True", "False", "None"), int: ("0", "1", "-1", "None"), str: ("''", "' '", "None")}
            choices = others.get(type(node.value), ("True", "False", "0", "1", "()"))
            if isinstance(node.value, int) and not isinstance(node.value, bool):
                choices = (*choices, str(node.value + 1), str(node.value - 1))
            for text in choices:
                if text != now:
                    yield replace(c, node, text, "default", -0.5)
    known = c.project.signatures
    for argument, node in pairs:
        for name in known:
            if argument.arg in known[name] and name != c.function.name:
                for call in c.project.calls.get(c.function.name, []):
                    for key, value in call.keywords:
                        if key == argument.arg and value != c.function.text(node) and _is_value(value):
                            yield replace(c, node, value, "default", -0.5)


def _is_value(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True
