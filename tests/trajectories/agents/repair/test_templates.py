"""Each idea of a repair, on a small function: the right text is among what its template suggests."""

from __future__ import annotations

import ast

import pytest

from redtogreen.trajectories.agents.repair.candidates import changed_source, changed_tree, suggestions_for
from redtogreen.trajectories.agents.repair.failure import Crash, Hints
from redtogreen.trajectories.agents.repair.project import collect
from redtogreen.trajectories.agents.repair.ranking import PRIORS
from redtogreen.trajectories.agents.repair.reading import Function, Reading

SIBLING = """
def oldest(items, key=None, default=None):
    if not items:
        return default
    found = pick(items, key=key, reverse=True)
    self.count += 1
    return found
"""

GOLDEN = [
    ("comparison", "def f(a, b):\n    return a < b", "def f(a, b):\n    return a <= b"),
    ("comparison", "def f(a, b):\n    return a not in b", "def f(a, b):\n    return a in b"),
    ("negation", "def f(a):\n    if a:\n        return 1", "def f(a):\n    if not a:\n        return 1"),
    ("connective", "def f(a, b):\n    return a and b", "def f(a, b):\n    return a or b"),
    ("operand_dropped", "def f(a, b):\n    return a and b", "def f(a, b):\n    return a"),
    ("none_check", "def f(a):\n    if a:\n        return 1", "def f(a):\n    if a is not None:\n        return 1"),
    (
        "condition_strengthened",
        "def f(a, strict):\n    if a:\n        return 1",
        "def f(a, strict):\n    if a and strict:\n        return 1",
    ),
    ("conditional_value", "def f(a, b, c):\n    return a if b else c", "def f(a, b, c):\n    return c if b else a"),
    ("type_check", "def f(a):\n    return isinstance(a, str)", "def f(a):\n    return isinstance(a, (str, bytes))"),
    ("arithmetic", "def f(a, b):\n    return a + b", "def f(a, b):\n    return a - b"),
    ("arithmetic", "def f(a, b):\n    a -= b\n    return a", "def f(a, b):\n    a += b\n    return a"),
    ("operands_exchanged", "def f(a, b):\n    return a - b", "def f(a, b):\n    return b - a"),
    (
        "augmented",
        "def f(a, b):\n    a = 0\n    a = b\n    return a",
        "def f(a, b):\n    a = 0\n    a += b\n    return a",
    ),
    ("off_by_one", "def f(a):\n    return range(a)", "def f(a):\n    return range(a + 1)"),
    ("off_by_one", "def f(a):\n    return a[: len(a) - 1]", "def f(a):\n    return a[: len(a)]"),
    ("flag", "def f(a):\n    return g(a, False)", "def f(a):\n    return g(a, True)"),
    ("number", "def f(a):\n    return a * 2", "def f(a):\n    return a * 3"),
    (
        "constant_for_name",
        "def f(a, b):\n    x = None\n    return g(a, x)",
        "def f(a, b):\n    x = b\n    return g(a, x)",
    ),
    ("none_value", "def f(a):\n    x = None\n    return x", "def f(a):\n    x = False\n    return x"),
    ("sign", "def f(a):\n    return -a", "def f(a):\n    return a"),
    ("text", "def f(a):\n    return '-'.join(a)", "def f(a):\n    return '_'.join(a)"),
    ("slice", "def f(a):\n    return a[1:]", "def f(a):\n    return a[:1]"),
    ("index", "def f(a):\n    return a[0]", "def f(a):\n    return a[-1]"),
    ("variable", "def f(a, b):\n    return a + a", "def f(a, b):\n    return a + b"),
    ("attribute", "def f(a):\n    return a.lstrip()", "def f(a):\n    return a.rstrip()"),
    ("function", "def f(a, b):\n    return min(a, b)", "def f(a, b):\n    return max(a, b)"),
    ("call_dropped", "def f(a):\n    return list(a)", "def f(a):\n    return a"),
    ("names_exchanged", "def f(a, b):\n    return g(h(1, b), a)", "def f(a, b):\n    return g(h(1, a), b)"),
    ("arguments_exchanged", "def f(a, b):\n    return g(a, b)", "def f(a, b):\n    return g(b, a)"),
    ("argument_dropped", "def f(a, b):\n    return g(a, b)", "def f(a, b):\n    return g(a)"),
    (
        "argument_added",
        "def f(items, key):\n    return pick(items)",
        "def f(items, key):\n    return pick(items, key=key)",
    ),
    ("keyword_value", "def f(a, key):\n    return g(a, key=None)", "def f(a, key):\n    return g(a, key=key)"),
    ("wrapped", "def f(a):\n    b = a.data\n    return b", "def f(a):\n    b = a.data.copy()\n    return b"),
    ("self_or_not", "def f(self, a):\n    return self.a", "def f(self, a):\n    return a"),
    ("returned", "def f(a):\n    out = g(a)\n    return", "def f(a):\n    out = g(a)\n    return out"),
    ("returned", "def f(a):\n    g(a)", "def f(a):\n    return g(a)"),
    ("return_added", "def f(a):\n    out = g(a)", "def f(a):\n    out = g(a)\n    return out"),
    ("other_returned", "def f(a, b):\n    return a", "def f(a, b):\n    return b"),
    (
        "jump",
        "def f(a):\n    for x in a:\n        if x:\n            break\n        g(x)",
        "def f(a):\n    for x in a:\n        if x:\n            continue\n        g(x)",
    ),
    (
        "jump_added",
        "def f(a):\n    for x in a:\n        if x:\n            g(x)\n        h(x)",
        "def f(a):\n    for x in a:\n        if x:\n            g(x)\n            break\n        h(x)",
    ),
    ("yielded", "def f(a):\n    yield g(a)", "def f(a):\n    yield from g(a)"),
    ("removed", "def f(a):\n    a.pop()\n    return a", "def f(a):\n    return a"),
    ("unguarded", "def f(a):\n    if a:\n        g(a)\n    return a", "def f(a):\n    g(a)\n    return a"),
    ("order", "def f(a):\n    g(a)\n    h(a)\n    return a", "def f(a):\n    h(a)\n    g(a)\n    return a"),
    (
        "depth",
        "def f(a):\n    for x in a:\n        g(x)\n    h(x)",
        "def f(a):\n    for x in a:\n        g(x)\n        h(x)",
    ),
    (
        "depth",
        "def f(a):\n    for x in a:\n        g(x)\n        return x",
        "def f(a):\n    for x in a:\n        g(x)\n    return x",
    ),
    (
        "elif",
        "def f(a):\n    if a > 1:\n        b = 1\n    if a > 0:\n        b = 2\n    return b",
        "def f(a):\n    if a > 1:\n        b = 1\n    elif a > 0:\n        b = 2\n    return b",
    ),
    (
        "exception",
        "def f(a):\n    try:\n        return a[1]\n    except KeyError:\n        return 0",
        "def f(a):\n    try:\n        return a[1]\n    except (KeyError, IndexError):\n        return 0",
    ),
    (
        "guard",
        "def f(a):\n    x = a[0]\n    return x",
        "def f(a):\n    if not a:\n        return None\n    x = a[0]\n    return x",
    ),
    (
        "guarded",
        "def f(a, k):\n    del a[k]\n    return a",
        "def f(a, k):\n    if k in a:\n        del a[k]\n    return a",
    ),
    (
        "missing_statement",
        "def youngest(items, key=None, default=None):\n    found = pick(items, key=key)\n    return found",
        "def youngest(items, key=None, default=None):\n    if not items:\n        return default\n"
        "    found = pick(items, key=key)\n    return found",
    ),
    (
        "missing_statement",
        "def f(self, size):\n    step = size.pop()\n    self.count += 1\n    return self",
        "def f(self, size):\n    step = size.pop()\n    self.count += step\n    self.count += 1\n    return self",
    ),
    ("initialised", "def __init__(self, a):\n    self.b = 1", "def __init__(self, a):\n    self.b = 1\n    self.a = a"),
    (
        "counted",
        "def f(a):\n    n = 0\n    while n < a:\n        g(n)\n    return n",
        "def f(a):\n    n = 0\n    while n < a:\n        g(n)\n        n += 1\n    return n",
    ),
    (
        "counted",
        "def f(a):\n    out = []\n    for x in a:\n        y = g(x)\n    return out",
        "def f(a):\n    out = []\n    for x in a:\n        y = g(x)\n        out.append(y)\n    return out",
    ),
    (
        "default",
        'def f(a, n=2):\n    """Defaults to ``5``."""\n    return n',
        'def f(a, n=5):\n    """Defaults to ``5``."""\n    return n',
    ),
]


def parsed(text: str, path: str = "m.py", first: int = 1) -> Function:
    lines = text.strip("\n").split("\n")
    return Function(path, ast.parse(text).body[0].name, first, tuple(lines))


HINTS = Hints(kinds={"attribute"}, names={"a"}, texts=[("x-y", "x_y")], numbers={3}, exceptions={"IndexError"})


@pytest.mark.parametrize(("template", "wrong", "right"), GOLDEN)
def test_a_template_finds_the_repair(template, wrong, right):
    function, sibling = parsed(wrong), parsed(SIBLING, first=100)
    project = collect([function, sibling])
    found = list(suggestions_for(function, [function, sibling], project, HINTS))
    fixed = [each for each in found if changed_tree(function, each) and same(changed_source(function, each), right)]
    assert fixed, sorted({each.template for each in found})
    assert template in {each.template for each in all_of(function, sibling, right)}


def all_of(function, sibling, right):
    """Everything that leads to the right text, whichever template came first."""
    from redtogreen.trajectories.agents.repair import candidates
    from redtogreen.trajectories.agents.repair.suggestions import Context

    context = Context(function, collect([function, sibling]), HINTS)
    return [
        each for each in candidates._every(context, [function, sibling]) if same(changed_source(function, each), right)
    ]


def same(one: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def test_every_template_has_a_prior_and_a_golden_case():
    golden = {template for template, _, _ in GOLDEN} | {"target", "member", "twin"}
    assert golden == {template for template in PRIORS if not template.startswith("crash_")}


def test_a_twin_lends_its_lines():
    wrong = parsed(
        "def left(items, value):\n    found = iter(items)\n    for item in found:\n        if item != value:\n"
        "            yield item\n    for item in found:\n        yield item",
    )
    twin = parsed(
        "def right(items, value):\n    found = iter(items)\n    for item in found:\n        if item != value:\n"
        "            yield item\n            break\n    for item in found:\n        yield item",
        first=50,
    )
    found = suggestions_for(wrong, [wrong, twin], collect([wrong, twin]), Hints())
    assert any(each.new == ("            break",) and each.first == 6 for each in found)


def test_only_lines_that_failing_tests_reached_are_repaired():
    function = parsed("def f(a, b):\n    x = a < b\n    y = a > b\n    return x, y")
    found = list(suggestions_for(function, [function], collect([function]), Hints(), frozenset({2})))
    assert found and {each.at for each in found if each.template != "default"} == {2}


def test_indented_functions_keep_their_margin():
    reading = Reading()
    source = [
        "class A:",
        "    def f(self, a):",
        "        if a:",
        "            return 1",
        "        return a < 2",
        "",
        "x = 1",
    ]
    content = "\n".join(f"{n:>5}  {line}" for n, line in enumerate(source, 1))
    reading.take_file({"path": "m.py", "content": content, "total_lines": len(source)})
    (function,) = reading.functions("m.py")
    found = [each for each in suggestions_for(function, [function], collect([function]), Hints())]
    assert any(each.first == 5 and each.new == ("        return a <= 2",) for each in found)
    for each in found:
        text = list(source)
        text[each.first - 1 : each.last] = each.new
        if changed_tree(function, each):
            ast.parse("\n".join(text))


def test_what_does_not_parse_or_changes_nothing_is_no_repair():
    function = parsed("def f(a):\n    return a")
    found = list(suggestions_for(function, [function], collect([function]), Hints()))[0]
    from dataclasses import replace

    assert not changed_tree(function, replace(found, first=2, last=2, new=("    return (",)))
    assert not changed_tree(function, replace(found, first=2, last=2, new=("    return  a",)))
    assert not changed_tree(function, replace(found, first=2, last=2, new=("    break",)))


def test_a_call_that_was_refused_is_checked_before_it_is_made():
    maker = parsed("def make(start, end):\n    if start >= end:\n        raise ValueError(start)\n    return start")
    user = parsed("def cut(a, b):\n    first = max(a, b)\n    return make(first, b.end)", first=10)
    crashes = [Crash("m.py", 3, "ValueError", "7"), Crash("m.py", 12, "ValueError", "7", inner=False)]
    found = suggestions_for(user, [maker, user], collect([maker, user]), Hints(crashes=crashes))
    assert ("    if first >= b.end:", "        return None") in {each.new for each in found}
