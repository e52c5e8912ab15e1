"""All suggestions of all templates for the functions that were read."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping

from redtogreen.trajectories.agents.repair import (
    templates_analogy,
    templates_conditions,
    templates_crash,
    templates_documented,
    templates_names,
    templates_statements,
    templates_values,
)
from redtogreen.trajectories.agents.repair.failure import Hints
from redtogreen.trajectories.agents.repair.project import ProjectWords
from redtogreen.trajectories.agents.repair.reading import Function
from redtogreen.trajectories.agents.repair.suggestions import Context, Suggestion

TEMPLATES: tuple[Callable[[Context], Iterator[Suggestion]], ...] = (
    templates_crash.crash,
    templates_conditions.comparison,
    templates_conditions.negation,
    templates_conditions.connective,
    templates_conditions.none_check,
    templates_conditions.condition_strengthened,
    templates_conditions.conditional_value,
    templates_conditions.type_check,
    templates_values.arithmetic,
    templates_values.off_by_one,
    templates_values.constant,
    templates_values.constant_for_name,
    templates_values.text,
    templates_values.index,
    templates_names.variable,
    templates_names.attribute,
    templates_names.function_called,
    templates_names.argument,
    templates_names.exchanged,
    templates_names.wrapped,
    templates_names.bare_name_of_self,
    templates_statements.returned,
    templates_statements.jump,
    templates_statements.removed,
    templates_statements.order,
    templates_statements.depth,
    templates_statements.exception,
    templates_statements.guard,
    templates_analogy.missing_statement,
    templates_documented.default,
)


def suggestions_for(
    function: Function,
    functions: list[Function],
    project: ProjectWords,
    hints: Hints,
    lines: frozenset[int] | None = None,
    seen: Mapping[str, set[str]] | None = None,
) -> Iterator[Suggestion]:
    """Every suggestion for one function, each text only once. They may still fail to parse: see `changed_tree`.

    `lines`: where failing tests went; None looks everywhere. `seen`: variable -> names of types it was seen to hold.
    """
    context = Context(function, project, hints, lines, seen or {})
    known: set[tuple] = set()
    for suggestion in _every(context, functions):
        if lines is not None and suggestion.at not in lines and suggestion.template != "default":
            continue
        key = (suggestion.first, suggestion.last, suggestion.new)
        if key not in known and not _same(function, suggestion):
            known.add(key)
            yield suggestion


def _every(context: Context, functions: list[Function]) -> Iterator[Suggestion]:
    for template in TEMPLATES:
        yield from template(context)
    yield from templates_analogy.twin(context, functions)
    yield from templates_crash.refused(context, functions)


def _same(function: Function, suggestion: Suggestion) -> bool:
    old = function.lines[suggestion.first - function.first : suggestion.last - function.first + 1]
    return tuple(line.strip() for line in old) == tuple(line.strip() for line in suggestion.new) and (
        suggestion.template != "depth"
    )


def changed_source(function: Function, suggestion: Suggestion) -> str:
    """The function's text with the suggestion applied, moved to the left margin."""
    lines = list(function.lines)
    at = suggestion.first - function.first
    lines[at : suggestion.last - function.first + 1] = suggestion.new
    margin = function.indent
    return "\n".join(line[margin:] if not line[:margin].strip() else line for line in lines) + "\n"


def changed_tree(function: Function, suggestion: Suggestion) -> ast.stmt | None:
    """The changed function's tree; None when it does not compile or means what it meant before."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(changed_source(function, suggestion))
            compile(tree, function.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return tree.body[0] if len(tree.body) == 1 and ast.dump(tree.body[0]) != function.dump else None
