"""Code like the rest of the project is natural; a line does not speak for itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.trajectories.agents.repair.naturalness import Naturalness, tokens_of

LINES = [
    "for index in range(len(items)):",
    "for index in range(len(names)):",
    "if item is None:",
    "if name is None:",
    "return items[index]",
    "return names[index]",
    "self.items = items",
    "self.names = names",
]


def test_what_the_project_writes_is_more_natural():
    model = Naturalness([*LINES, "if value is not None:"])
    assert model.gain(["for index in range(len(rows) + 1):"], ["for index in range(len(rows)):"]) > 0
    assert model.gain(["if value == None:"], ["if value is None:"]) > 0


def test_the_present_line_is_unlearnt_while_it_is_judged():
    """Without that, code that was read would always win against its repair."""
    wrong = "self.names = items"
    model = Naturalness([*LINES, wrong])
    assert model.gain([wrong], ["self.names = names"]) > 0


def test_judging_leaves_the_model_as_it_was():
    model = Naturalness(LINES)
    before = model.bits(LINES)
    model.gain([LINES[0]], ["anything at all"])
    assert model.bits(LINES) == before


@given(st.text(max_size=60))
def test_any_text_has_tokens_and_bits(text):
    tokens_of(text)
    assert Naturalness(LINES).bits([text]) >= 0
