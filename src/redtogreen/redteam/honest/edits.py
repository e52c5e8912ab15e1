"""Edits of Python source by line, guided by its syntax tree, as a person would make them."""

from __future__ import annotations

import ast
import textwrap

Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_function(text: str, name: str) -> Function:
    """The definition of `name` or `Class.name`. Raises LookupError."""
    nodes: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        found = [n for n in nodes if isinstance(n, ast.ClassDef | Function) and n.name == part]
        if not found:
            raise LookupError(f"no {name} in this source")
        last, nodes = found[0], found[0].body
    if not isinstance(last, Function):
        raise LookupError(f"{name} is no function")
    return last


def insert_lines(text: str, before: int, lines: str) -> str:
    """The text with more lines before the line of that number (from 1)."""
    rows = text.splitlines(keepends=True)
    return "".join([*rows[: before - 1], lines, *rows[before - 1 :]])


def add_import(text: str, statement: str) -> str:
    """The text with a statement after the module's docstring and its imports."""
    line = 1
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.lineno == 1
        ):
            line = (node.end_lineno or line) + 1
    return insert_lines(text, line, f"{statement}\n")


def owner_line(text: str, name: str) -> int:
    """First line of the top-level definition that holds a function, decorators included."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | Function) and node.name == name.split(".")[0]:
            return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    raise LookupError(f"no {name} in this source")


def replace_body(text: str, name: str, lines: str) -> str:
    """The text with another body for a function; its docstring stays. `lines` are indented by nothing."""
    node = find_function(text, name)
    after = [statement for statement in node.body if statement is not docstring_of(node)]
    rows = text.splitlines(keepends=True)
    body = textwrap.indent(lines, " " * after[0].col_offset)
    return "".join([*rows[: after[0].lineno - 1], body, *rows[node.end_lineno or len(rows) :]])


def first_line_of_body(text: str, name: str) -> tuple[int, str]:
    """Where the statements after a function's docstring begin, and their indentation."""
    node = find_function(text, name)
    after = [statement for statement in node.body if statement is not docstring_of(node)]
    return after[0].lineno, " " * after[0].col_offset


def docstring_of(node: Function) -> ast.stmt | None:
    """The statement that is a function's docstring."""
    return node.body[0] if ast.get_docstring(node) is not None else None


def parameters(text: str, name: str) -> list[str]:
    """Names of a function's parameters."""
    arguments = find_function(text, name).args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
