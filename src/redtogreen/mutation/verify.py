"""Prove that an edit changes the syntax tree, and only below its target.

Re-parsing the file for each candidate would cost milliseconds per thousand lines, so the smallest statement that has
its lines for itself is parsed instead; before it is trusted, its unchanged text must give the tree the file gave.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from redtogreen.mutation.model import Edit, Place
from redtogreen.mutation.spans import SourceFile


class Verifier:
    """Checks edits of one file; remembers which statements can be parsed alone."""

    def __init__(self, source: SourceFile):
        self.source = source
        self._units: dict[int, tuple[int, int] | None] = {}
        self._declares: dict[int, bool] = {}

    def settle(self, place: Place, edit: Edit) -> Edit | None:
        """The edit, or the same with parentheses where precedence needs them, or None when neither is sound."""
        if self._sound(place, edit):
            return edit
        if edit.deletes or not isinstance(edit.target, ast.expr):
            return None
        low, high = self.source.span(edit.target)
        if not low <= edit.start <= edit.end <= high:
            return None
        text = self.source.text
        wrapped = "(" + text[low : edit.start] + edit.text + text[edit.end : high] + ")"
        edit = replace(edit, start=low, end=high, text=wrapped)
        return edit if self._sound(place, edit) else None

    def _sound(self, place: Place, edit: Edit) -> bool:
        for node in (place.node, *reversed(place.parents)):
            if not isinstance(node, ast.stmt) or (edit.deletes and node is edit.target):
                continue
            unit = self._unit(node)
            if unit is None or not unit[0] <= edit.start <= edit.end <= unit[1]:
                continue
            text = self.source.text
            changed = _parse(text[unit[0] : edit.start] + edit.text + text[edit.end : unit[1]])
            if changed is None or len(changed) != 1:
                return False
            if same_tree(node, changed[0]) or not same_tree(node, changed[0], edit):
                return False
            return not self._has_declarations(place) or self._compiles(edit)
        return False

    def _unit(self, statement: ast.stmt) -> tuple[int, int] | None:
        if id(statement) not in self._units:
            lines = self.source.full_lines(statement)
            if lines:
                alone = _parse(self.source.text[slice(*lines)])
                if alone is None or len(alone) != 1 or not same_tree(statement, alone[0]):
                    lines = None
            self._units[id(statement)] = lines
        return self._units[id(statement)]

    def _has_declarations(self, place: Place) -> bool:
        """`global` and `nonlocal` are checked by the compiler, not by the parser."""
        outermost = place.owner.outermost
        if id(outermost) not in self._declares:
            self._declares[id(outermost)] = any(isinstance(n, ast.Global | ast.Nonlocal) for n in ast.walk(outermost))
        return self._declares[id(outermost)]

    def _compiles(self, edit: Edit) -> bool:
        text = self.source.text
        try:
            compile(text[: edit.start] + edit.text + text[edit.end :], self.source.path, "exec", dont_inherit=True)
        except SyntaxError:
            return False
        return True


def _parse(text: str) -> list[ast.stmt] | None:
    """Statements of a block of whole lines at any indentation; None when it does not parse."""
    indented = text[:1] in (" ", "\t", "\f")
    try:
        body = ast.parse("if 1:\n" + text if indented else text).body
    except SyntaxError:
        return None
    if not indented:
        return body
    head = body[0]
    return head.body if len(body) == 1 and isinstance(head, ast.If) and not head.orelse else None


def same_tree(a: object, b: object, edit: Edit | None = None) -> bool:
    """Whether two trees are equal apart from positions and, when an edit is given, from its target (a node of `a`).

    A deleted target must be missing from `b`, or be `pass` there; in another's place its intended tree must stand.
    """
    if edit is not None and a is edit.target:
        if edit.intended is not None:
            return same_tree(edit.intended, b)
        return isinstance(b, ast.AST) and not edit.deletes
    if type(a) is not type(b):
        return False
    if isinstance(a, ast.AST):
        return all(same_tree(getattr(a, name, None), getattr(b, name, None), edit) for name in a._fields)
    if isinstance(a, list) and isinstance(b, list):
        if edit is not None and edit.deletes and any(item is edit.target for item in a):
            if len(a) == len(b) == 1:
                return isinstance(b[0], ast.Pass)
            a = [item for item in a if item is not edit.target]
        return len(a) == len(b) and all(same_tree(x, y, edit) for x, y in zip(a, b, strict=True))
    return a == b if isinstance(a, str | bytes) else repr(a) == repr(b)
