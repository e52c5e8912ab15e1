"""Change Python source on purpose, one place at a time, keeping the file's formatting.

`find_mutations` lists every change the operators can make to one file, `choose` picks a small varied sample, and
`Mutation.apply` writes one into the file's bytes. Only spans given by syntax-tree positions are edited; nothing is
printed back from the tree. Start reading at `generate.py`; the operators are in `names`, `statements`, `conditions`
and `values`.
"""

from __future__ import annotations

from redtogreen.mutation.choose import choose
from redtogreen.mutation.generate import OPERATORS, find_mutations
from redtogreen.mutation.model import Mutation, Operator

__all__ = ["OPERATORS", "Mutation", "Operator", "choose", "find_mutations"]
