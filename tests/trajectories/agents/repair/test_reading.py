"""What was read is remembered by line; only functions that are known as a whole are repaired."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.trajectories.agents.repair.reading import Reading

TEXT = '''import os


class Box:
    """Holds things."""

    def __init__(self, items):
        """Text
at the margin
        """
        self.items = items

    @property
    def first(self):
        if self.items:
            return self.items[0]
        # a comment at the end


def last(box):
    return box.items[-1]
'''
SOURCE = TEXT.rstrip("\n").split("\n")


def read(first: int, last: int) -> Reading:
    reading = Reading()
    content = "\n".join(f"{number:>5}  {SOURCE[number - 1]}" for number in range(first, last + 1))
    reading.take_file({"path": "box.py", "content": content, "total_lines": len(SOURCE)})
    return reading


def test_whole_functions_are_found_with_class_and_extent():
    functions = read(1, len(SOURCE)).functions("box.py")
    assert [(f.owner, f.name, f.first, f.last) for f in functions] == [
        ("Box", "__init__", 7, 11),
        ("Box", "first", 14, 16),
        ("", "last", 20, 21),
    ]


@given(st.integers(1, len(SOURCE)), st.integers(1, len(SOURCE)))
def test_a_function_that_is_cut_off_is_not_taken_for_a_whole_one(one, other):
    """Property: whatever part of a file is known, each function found is one of the file's, at its full length."""
    first, last = min(one, other), max(one, other)
    whole = {(f.name, f.first, f.last) for f in read(1, len(SOURCE)).functions("box.py")}
    assert {(f.name, f.first, f.last) for f in read(first, last).functions("box.py")} <= whole


def test_edits_move_what_lies_behind_them():
    reading = read(1, len(SOURCE))
    reading.replace("box.py", 16, 16, ["            x = 1", "            return x"])
    assert reading.text("box.py", 16, 17) == ["            x = 1", "            return x"]
    assert reading.function_at("box.py", 21).name == "last" and reading.total["box.py"] == len(SOURCE) + 1
    reading.replace("box.py", 16, 17, [])
    assert reading.function_at("box.py", 19).name == "last"


def test_the_outline_tells_how_far_a_function_reaches():
    reading = Reading()
    reading.take_symbols("box.py", {"matches": ["Box(line:4)", "Box.first(line:14)", "last(line:20)"]})
    assert reading.extent("box.py", 16) == ("Box.first", 14, 19)
    assert reading.extent("box.py", 2) is None and reading.extent("other.py", 2) is None
