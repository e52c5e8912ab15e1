"""Names alone tell well enough where tests would notice a change."""

from __future__ import annotations

from redtogreen.mutation import find_mutations
from redtogreen.tasks.sources.reach import DIRECT, HARDLY, Reach

SOURCE = b"""
import sys


def area(w, h):
    if w < 0:
        raise ValueError("below " + str(w + 1))
    if sys.platform == "win32":
        return w - h
    return _product(w, h)


def _product(a, b):
    return a * b


def unused(a, b):
    return a + b


def _lost(a, b):
    return a + b


class Box:
    def side(self, x):
        return x + 1
"""
TEST = b"from shapes import area, Box\n\ndef test_area():\n    assert area(2, 3) == 6\n    assert Box().side(1) == 2\n"


def weights():
    reach = Reach({"tests/t.py": TEST}, {"shapes.py": SOURCE})
    return [(mutation, reach(mutation)) for mutation in find_mutations("shapes.py", SOURCE)]


def test_functions_rank_by_how_near_the_tests_are():
    best = {}
    for mutation, weight in weights():
        best[mutation.function] = max(weight, best.get(mutation.function, 0))
    assert best["area"] == best["Box.side"] == DIRECT
    assert best["area"] > best["_product"] > best["unused"] > best["_lost"] > HARDLY


def test_error_messages_and_other_platforms_weigh_little():
    lines = SOURCE.decode().splitlines()
    for mutation, weight in weights():
        assert 0 < weight <= 1
        if "below" in lines[mutation.line - 1] or "w - h" in lines[mutation.line - 1]:
            assert weight <= 0.1


def test_a_file_that_no_test_imports_is_hardly_reached_whatever_its_names():
    other = {"shapes.py": SOURCE, "old.py": SOURCE, "far.py": SOURCE, "near.py": b"import far\n"}
    reach = Reach({"t.py": TEST + b"import near\n"}, other)
    best = {path: max(map(reach, find_mutations(path, SOURCE))) for path in ("shapes.py", "far.py", "old.py")}
    assert best == {"shapes.py": DIRECT, "far.py": DIRECT, "old.py": HARDLY}


def test_files_that_do_not_parse_are_no_error():
    reach = Reach({"t.py": b"def ("}, {"s.py": b"\xff\xfe"})
    assert all(0 < reach(mutation) <= 1 for mutation in find_mutations("shapes.py", SOURCE))
