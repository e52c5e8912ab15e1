"""All single-site mutations of a file: every operator at every place, each proven to parse and to stay local."""

from __future__ import annotations

import ast
import hashlib
import warnings

from redtogreen.errors import TaskError
from redtogreen.mutation import conditions, names, statements, values
from redtogreen.mutation.model import Edit, Mutation, Operator, Place
from redtogreen.mutation.places import places
from redtogreen.mutation.spans import SourceFile
from redtogreen.mutation.verify import Verifier

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (*names.OPERATORS, *statements.OPERATORS, *conditions.OPERATORS, *values.OPERATORS)
}
"""Every operator by name, with the mistake it resembles and its realism weight."""


def _by_node_type() -> dict[type[ast.AST], list[Operator]]:
    table: dict[type[ast.AST], list[Operator]] = {}
    for operator in OPERATORS.values():
        for kind in operator.nodes:
            table.setdefault(kind, []).append(operator)
    return table


_FOR_TYPE = _by_node_type()


def find_mutations(path: str, source: bytes) -> list[Mutation]:
    """Every mutation of a file, ordered by position, then operator; no two give the same file.

    `path` is only carried along (it is part of each key); `source` is the file as it lies on disk. Each mutation
    compiles and changes the syntax tree at one place only. Raises TaskError, naming file and line, when the source
    cannot be decoded or parsed.
    """
    file = SourceFile(path, source)
    verifier = Verifier(file)
    found: list[tuple[tuple[int, int, int, str], Mutation]] = []
    seen = {hashlib.sha256(source).digest()}
    rank = {name: index for index, name in enumerate(OPERATORS)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for place in places(file):
                for operator in _FOR_TYPE.get(type(place.node), []):
                    if place.in_while_test and not operator.in_while_test:
                        continue
                    for proposed in operator.find(place, file):
                        edit = verifier.settle(place, proposed)
                        mutation = edit and _mutation(operator, place, edit, file)
                        if not mutation:
                            continue
                        result = hashlib.sha256(mutation.apply(source)).digest()
                        if result not in seen:
                            seen.add(result)
                            order = (mutation.start, mutation.end, rank[operator.name], mutation.replacement)
                            found.append((order, mutation))
    except RecursionError as error:
        raise TaskError(f"{path}, line 1: cannot be mutated: nested too deeply", "leave this file out") from error
    return [mutation for _, mutation in sorted(found, key=lambda pair: pair[0])]


def _mutation(operator: Operator, place: Place, edit: Edit, file: SourceFile) -> Mutation | None:
    start, end = file.byte_offset(edit.start), file.byte_offset(edit.end)
    # Codecs that keep a state between characters do not allow cutting at any place.
    if file.source[start:end] != file.text[edit.start : edit.end].encode(file.encoding):
        return None
    line = file.line_index(max(edit.start, file.start(edit.target)) if edit.deletes else edit.start) + 1
    return Mutation(operator.name, file.path, start, end, edit.text, place.owner.qualname, line)
