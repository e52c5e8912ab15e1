"""Types seen at run time are read back by function, and decide which variable may stand for which."""

from __future__ import annotations

from redtogreen.trajectories.agents.repair import tracing
from redtogreen.trajectories.agents.repair.candidates import suggestions_for
from redtogreen.trajectories.agents.repair.failure import Hints
from redtogreen.trajectories.agents.repair.profiles import kinds_of
from redtogreen.trajectories.agents.repair.project import collect
from redtogreen.trajectories.agents.repair.reading import Function


def function(text: str) -> Function:
    return Function("m.py", "f", 5, tuple(text.split("\n")))


def test_what_was_printed_is_read_back():
    observed = tracing.read("noise\nm.py:3 f a=int,str~ b=NoneType\nm.py:40 f a=list\nm.py:50 g a=lis")
    assert observed.of("m.py", "f", 5) == {"a": {"int", "str~"}, "b": {"NoneType"}}, "decorators stand before the def"
    assert observed.of("m.py", "f", 40) == {"a": {"list"}}
    assert observed.of("m.py", "h", 5) == {} and observed.of("m.py", "f", 90) == {}


def test_the_command_notes_types_while_the_tests_run(material):
    from redtogreen.execution.environments import open_workspace
    from redtogreen.grading.workspace import load_workspace
    from redtogreen.trajectories.recording.actions import Actions

    task = material.tasks[0]
    environment, lower = load_workspace(task, material.store)
    with open_workspace(environment, lower) as sandbox:
        cmd = tracing.command(["words/counting.py"], task.tests.visible)
        said = [Actions(sandbox, task.view()).perform("run_command", {"cmd": cmd}).observation for _ in range(2)]
    assert said[0] == said[1], "no durations, no addresses"
    observed = tracing.read(said[0]["stdout_tail"])
    assert observed.of("words/counting.py", "count", 4) == {
        "text": {"str", "str~"},
        "result": {"dict", "dict~"},
        "word": {"str"},
    }


def test_a_variable_is_not_put_where_its_type_cannot_stand():
    wrong = function(
        "def f(text, found):\n    for word in text:\n        found[word] = found.get(text)\n    return found"
    )
    seen = {"text": {"str"}, "found": {"dict"}, "word": {"str"}}

    def new(seen):
        return {each.new for each in suggestions_for(wrong, [wrong], collect([wrong]), Hints(), None, seen)}

    assert ("        text[word] = found.get(text)",) in new({})
    assert ("        text[word] = found.get(text)",) not in new(seen)
    assert ("        found[word] = found.get(word)",) in new(seen)


def test_kinds_follow_from_how_variables_are_filled_and_used():
    kinds = kinds_of(
        function(
            "def f(a, b, c, d):\n    x = []\n    y = {}\n    n = len(a)\n    b.split()\n    z = g()\n"
            "    if isinstance(c, str):\n        c.strip()\n    for i in range(n):\n        x.append(i)\n"
            "    return d(x)"
        )
    )
    assert kinds["x"] == {"list"} and kinds["y"] == {"dict"} and kinds["n"] == {"int"} == kinds["i"]
    assert kinds["b"] == {"str"} and kinds["d"] == {"function"}
    assert "a" not in kinds and "z" not in kinds and "c" not in kinds, "unknown, or known to be of several types"
