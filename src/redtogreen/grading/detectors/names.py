"""What a name or an expression of a syntax tree stands for, as a dotted path: `o` after `import os as o` is `os`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

_DEPTH = 40


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Every node, the outer ones first; `ast.walk` in half the time, without the nodes that only say load or store."""
    nodes = [tree]
    for node in nodes:  # grows while it is gone through
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                nodes += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST) and name not in ("ctx", "op"):
                nodes.append(value)
    return nodes


class Names:
    """Names bound by imports and plain assignments anywhere in a file, whatever the scope."""

    def __init__(self, nodes: Sequence[ast.AST]):
        self.bound: dict[str, str] = {}
        assigned: list[tuple[str, ast.expr]] = []
        for node in nodes:
            if isinstance(node, ast.Import):
                for one in node.names:
                    top = one.name.partition(".")[0]
                    self.bound[one.asname or top] = one.name if one.asname else top
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    self.bound[one.asname or one.name] = f"{'.' * node.level}{node.module or ''}.{one.name}"
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                assigned.append((node.targets[0].id, node.value))
        imported = set(self.bound)
        for name, value in assigned:
            path = None if name in imported or isinstance(value, ast.Name | ast.Constant) else self.path(value)
            if path is not None:
                self.bound.setdefault(name, path)
        for name, value in assigned:
            if isinstance(value, ast.Name) and name not in imported and value.id in self.bound:
                self.bound.setdefault(name, self.bound[value.id])

    def path(self, node: ast.AST, depth: int = 0) -> str | None:
        """`os._exit` for `os._exit`, `getattr(os, "_ex" + "it")`, `__import__("os")._exit`; None: nothing imported."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Name):
            return self.bound.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.path(node.value, depth + 1)
            if base is None:
                return None
            if node.attr == "__dict__":
                return base
            return f"{base}.{node.attr}"
        if isinstance(node, ast.Subscript):
            key = text_of(node.slice)
            base = self.path(node.value, depth + 1) if key else None
            if base == "sys.modules":
                return key
            inside = isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__"
            inside = inside or (isinstance(node.value, ast.Call) and _called(node.value) == "vars")
            return f"{base}.{key}" if base and inside else None
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        return None

    def _call(self, node: ast.Call, depth: int) -> str | None:
        name = _called(node)
        if name == "getattr" and len(node.args) >= 2:
            base, key = self.path(node.args[0], depth + 1), text_of(node.args[1])
            return f"{base}.{key}" if base and key else None
        if name == "vars" and node.args:
            return self.path(node.args[0], depth + 1)
        if name in ("__import__", "import_module") and node.args:
            return text_of(node.args[0])
        return None


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def text_of(node: ast.AST | None, depth: int = 0) -> str | None:
    """A constant text, also one put together with `+`; None: not constant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and depth < _DEPTH:
        left, right = text_of(node.left, depth + 1), text_of(node.right, depth + 1)
        return left + right if left is not None and right is not None else None
    return None
