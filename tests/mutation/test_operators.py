"""Each operator, before and after, to the letter: a changed spelling or lost formatting shows here."""

from __future__ import annotations

import textwrap

import pytest

from redtogreen.mutation import OPERATORS, find_mutations

# operator, function body, changed pieces of text (what stands in place of the body's marked line)
GOLDEN = [
    ("wrong_var", "def f(left, right):\n    return g(left)", ["return g(right)"]),
    ("arg_swap", "def f(a, b):\n    return g( a,  b.c )", ["g( b.c,  a )"]),
    ("kwarg_drop", "def f(a):\n    return g(a, key=(1), flag=a)", ["g(a, flag=a)", "g(a, key=(1))"]),
    ("kwarg_drop", "def f(a):\n    return g(key=1)", ["g()"]),
    ("kwarg_drop", "def f(a):\n    return g((a), key=1)", ["g((a))"]),
    ("method_swap", "def f(a):\n    return a.lower()", ["a.upper()"]),
    ("method_swap", "def f(a):\n    return min(a)", ["max(a)"]),
    ("stmt_delete", "def f(a):\n    a.go()  # now\n    return a", ["def f(a):\n    return a"]),
    ("stmt_delete", "def f(a):\n    for b in a: b.go()\n    return a", ["for b in a: pass\n"]),
    ("stmt_delete", "def f(a):\n    a.x(); a.y()\n    return a", ["    a.y()\n", "    a.x()\n"]),
    ("guard_remove", "def f(a):\n    if not a:\n        return 0\n    return a[0]", ["def f(a):\n    return a[0]"]),
    ("else_drop", "def f(a):\n    if a:\n        a.x()\n    else:\n        a.y()", ["    else:\n        pass"]),
    ("stmt_swap", "def f(s, a):\n    s.x = a\n    s.y = s.x + 1\n",
     ["def f(s, a):\n    s.y = s.x + 1\n    s.x = a\n"]),
    ("return_none", "def f(a):\n    return (a + 1)", ["return (None)"]),
    ("break_continue", "def f(a):\n    for b in a:\n        if b: break", ["if b: continue"]),
    ("break_continue", "def f(a):\n    for b in a:\n        if b: continue\n        b()", ["if b: break"]),
    ("except_change", "def f(a):\n    try:\n        a()\n    except (KeyError, OSError):\n        return 1",
     ["except KeyError:", "except OSError:"]),
    ("except_change", "def f(a):\n    try:\n        a()\n    except KeyError as e:\n        return e",
     ["except IndexError as e:"]),
    ("compare_boundary", "def f(a, b):\n    return a<b", ["a<=b"]),
    ("compare_boundary", "def f(a, b):\n    while a >= b: a = g(a)", ["while a > b:"]),
    ("compare_swap", "def f(a, b):\n    return (a)is  not(b)", ["(a)is(b)"]),
    ("compare_swap", "def f(a, b):\n    return a not  in b", ["a in b"]),
    ("compare_swap", "def f(a, b):\n    return (a  # == here\n        == b)", ["(a  # == here\n        != b)"]),
    ("bool_swap", "def f(a, b, c):\n    return a and b or c", ["(a or b) or c", "a and b and c"]),
    ("bool_drop_operand", "def f(a, b):\n    if (a) and b(1): return 1", ["if (a):", "if b(1):"]),
    ("bool_drop_operand", "def f(a, b, c):\n    return a or b or c", ["a or b", "a or c", "b or c"]),
    ("not_remove", "def f(a):\n    return not a", ["return a"]),
    ("cond_negate", "def f(a, b):\n    if a and b:\n        return 1", ["if not (a and b):"]),
    ("cond_negate", "def f(a):\n    return [b for b in a if b]", ["if not b]"]),
    ("ifexp_swap", "def f(a, b, c):\n    return a if c else b", ["b if c else a"]),
    ("slice_off1", "def f(a, n):\n    return a[:n]", ["a[:n - 1]", "a[:n + 1]"]),
    ("slice_off1", "def f(a, n):\n    return a[n+1:]", ["a[n:]"]),
    ("slice_off1", "def f(a, n):\n    return a[:-1]", ["a[:-2]"]),
    ("range_off1", "def f(n):\n    return range(n)", ["range(n - 1)", "range(n + 1)"]),
    ("int_const", "def f(n):\n    return n % 0x0F", ["n % 0x10", "n % 0x0E"]),
    ("int_const", "def f(n):\n    return n[0]", ["n[1]"]),
    ("bool_const", "def f(n):\n    return n(True)", ["n(False)"]),
    ("arith_swap", "def f(a, b):\n    return a * (a+b)", ["a / (a+b)", "a * (a-b)"]),
    ("arith_swap", "def f(a, b, c):\n    return a + b << c", ["a - b << c", "a + b >> c"]),
    ("operand_swap", "def f(a, b):\n    return a - b", ["b - a"]),
    ("operand_swap", "def f(a, b, c):\n    return a - b - c", ["b - a - c", "c - (a - b)"]),
    ("operand_swap", "def f(a, b, c):\n    return (a+b)/ c", ["return c/ (a+b)"]),
    ("ifexp_swap", "def f(a, b, c):\n    return a if c else b if c.d else 1", ["a if c else 1 if c.d else b"]),
    ("sign_drop", "def f(a):\n    return -a", ["return a"]),
    ("aug_swap", "def f(a, b):\n    a += b\n    return a", ["a -= b", "a = b"]),
    ("default_change", "def f(a, n=3, *, flag=True):\n    return a", ["n=4,", "n=2,", "flag=False)"]),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "before", "after"), GOLDEN)
def test_golden(operator, before, after):
    source = (before.rstrip("\n") + "\n").encode()
    results = [m.apply(source).decode() for m in find_mutations("m.py", source) if m.operator == operator]
    for piece in after:
        hits = [r for r in results if piece in r]
        assert len(hits) >= 1, f"{piece!r} not in {results}"
    if operator not in {"wrong_var"}:
        assert len(results) == len(after), results


def test_every_operator_has_a_golden_example():
    assert {name for name, _, _ in GOLDEN} | {"wrong_attr"} == set(OPERATORS)


def test_operators_are_described_and_weighted():
    assert len(OPERATORS) >= 16
    for name, operator in OPERATORS.items():
        assert operator.name == name
        assert operator.mistake and "\n" not in operator.mistake
        assert 0 < operator.weight <= 1
    assert OPERATORS["wrong_var"].weight > OPERATORS["compare_boundary"].weight > OPERATORS["compare_swap"].weight


def test_wrong_attribute_takes_data_for_data_and_methods_of_the_same_arity():
    source = textwrap.dedent("""\
        class Box:
            def __init__(self, width, height):
                self.width = width
                self.height = height

            def area(self):
                return self.width * self.halve(2)

            def halve(self, n):
                return n

            def have(self, n):
                return n

            def halve_all(self):
                return 1
        """).encode()
    found = [m for m in find_mutations("m.py", source) if m.operator == "wrong_attr"]
    assert {(m.function, m.replacement) for m in found} == {("Box.area", "height"), ("Box.area", "have")}


def test_wrong_variable_is_always_bound_before():
    """An unbound name would be a NameError, not a realistic bug."""
    source = b"def f(a):\n    if a:\n        b = 1\n    early = g(a)\n    use(early)\n    late = 2\n    return late\n"
    found = [m for m in find_mutations("m.py", source) if m.operator == "wrong_var"]
    assert {(m.line, m.replacement) for m in found} == {(5, "a"), (7, "a"), (7, "early")}


@pytest.mark.parametrize(
    "code",
    [
        'def f(a):\n    """a doc == string"""',
        'def f(a: "int" = None) -> "int":\n    b: "int | str"',
        "def f(a):\n    assert a == 1, a + 1",
        'def f(a):\n    raise ValueError("no", 1 + 1)',
        'def f(a):\n    logger.debug("x", 1)\n    self.log.warning(a, 2)\n    print(a)',
        "def __repr__(self):\n    return self.x + 1",
        'if __name__ == "__main__":\n    def f(a): return a + 1',
        "if TYPE_CHECKING:\n    def f(a): return a + 1",
        "__all__ = ['x']\nX = 1 + 2\nclass C:\n    y = 1 < 2",
        "@g(1 + 1)\ndef f(a):\n    pass",
        "def f(a):  # pragma: no cover\n    return a + 1",
        "def f(a):\n    global b\n    import os",
    ],
)
def test_places_no_test_can_see_are_left_alone(code):
    assert find_mutations("m.py", code.encode()) == []


def test_nothing_inside_f_strings_changes():
    source = b"def f(a, b):\n    return g(f'{a + 1} {b if a else 2}', a < b)\n"
    found = find_mutations("m.py", source)
    low, high = source.index(b"f'"), source.index(b"', a") + 1
    assert found
    # An edit may move or drop the whole string, but its own text stays.
    for m in found:
        assert m.end <= low or m.start >= high or source[low:high] in m.apply(source) or b"f'" not in m.apply(source)


@pytest.mark.parametrize(
    "loop",
    [
        "while i < n:\n        i += 1",
        "while self.i < n:\n        self.i = self.i + 1",
        "while stack:\n        x = stack.pop()",
        "while True:\n        i += 1\n        if i > n: break",
    ],
)
def test_steps_that_end_a_while_loop_are_left_alone(loop):
    """Such mutants hang the suite and say nothing."""
    source = f"def f(self, i, n, stack):\n    {loop}\n".encode()
    first = loop.splitlines()[1].strip().encode()
    for mutation in find_mutations("m.py", source):
        assert first in mutation.apply(source), mutation
        assert b"if i > n: continue" not in mutation.apply(source)
        assert b"pass" not in mutation.apply(source)


def test_guards_and_their_only_statement_are_not_two_mutations():
    source = b"def f(a):\n    if a:\n        a.clear()\n    return a\n"
    deleted = [m.operator for m in find_mutations("m.py", source) if b"clear" not in m.apply(source)]
    assert deleted == ["guard_remove"]
