"""What kinds of values the suspicious functions really see: one run of the failing tests with their locals noted.

What a person does with a debugger or a few prints. The answer tells which variables may stand for one another.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

SECONDS = 15
_SCRIPT = """import os, sys, pytest
files = {files!r}
seen, notes = {{}}, {{}}
def note(frame):
    code = frame.f_code
    notes[code] = notes.get(code, 0) + 1
    mine = seen.setdefault((code.co_filename[6:], code.co_firstlineno, code.co_name), {{}})
    if len(mine) > 40 or sum(map(len, mine.values())) > 90:
        return
    held = list(frame.f_locals.items())
    for name, value in held[:12]:
        inside = getattr(value, "__dict__", None) if type(value).__module__ != "builtins" else None
        if type(inside) is dict and not isinstance(value, type):
            held += [(name + "." + each, inside[each]) for each in list(inside)[:12] if each[:2] != "__"]
    for name, value in held:
        try:
            empty = "~" if value is not None and not value else ""
        except Exception:
            empty = ""
        mine.setdefault(name, set()).add(type(value).__name__ + empty)
def leave(frame, event, arg):
    if event == "return":
        note(frame)
    return leave
def enter(frame, event, arg):
    code = frame.f_code
    if code not in notes:
        wanted = code.co_filename[:6] == "/work/" and code.co_filename[6:] in files and code.co_name[0] != "<"
        notes[code] = 0 if wanted else {most}
    if notes[code] >= {most}:
        return None
    frame.f_trace_lines = False
    note(frame)
    return leave
class Watch:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        sys.settrace(enter)
        yield
        sys.settrace(None)
shown, sys.stdout = sys.stdout, open(os.devnull, "w")
options = ["-p", "no:cacheprovider", "--tb=no", "--assert=plain", *sys.argv[1:]]
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
pytest.main(options, plugins=[Watch()])
if not seen:
    del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
    pytest.main(options, plugins=[Watch()])
sys.stdout = shown
for (path, line, name), found in sorted(seen.items(), key=lambda item: files.index(item[0][0]), reverse=True):
    kinds = ("%s=%s" % (each, ",".join(sorted(types)[:5])) for each, types in sorted(found.items()))
    print("%s:%d %s" % (path, line, name), *kinds)
"""
SAMPLES = 60
"""Times one function is looked at, at its beginning and at its end; later calls run at full speed."""
_LINE = re.compile(r"^(?P<path>\S+\.py):(?P<line>\d+) (?P<name>\w+)(?P<rest>(?: [\w.]+=\S+)*)$")


@dataclass
class Observed:
    """Locals of functions as they were seen."""

    kinds: dict[tuple[str, str], list[tuple[int, dict[str, set[str]]]]] = field(default_factory=dict)
    """(path, name) -> (first line, variable -> type names; `~` behind one: an empty or zero value was seen)."""

    def of(self, path: str, name: str, first: int) -> dict[str, set[str]]:
        """Variable -> type names in one function; empty: not seen. `first`: line of its `def`."""
        for line, kinds in self.kinds.get((path, name), []):
            if line <= first <= line + 12:  # decorators stand before the def
                return kinds
        return {}


def command(files: Iterable[str], tests: Iterable[str]) -> str:
    """The shell command that runs the tests and prints what was seen, the first files last."""
    script = _SCRIPT.format(files=list(files), most=SAMPLES)
    return f"python - {' '.join(shlex.quote(test) for test in tests)} <<'EOF'\n{script}EOF"


def read(text: str) -> Observed:
    """What the command printed; a line that is cut off is left out."""
    observed = Observed()
    for line in text.split("\n"):
        if found := _LINE.match(line):
            kinds = {}
            for part in found["rest"].split():
                name, _, types = part.partition("=")
                kinds[name] = set(types.split(","))
            observed.kinds.setdefault((found["path"], found["name"]), []).append((int(found["line"]), kinds))
    return observed
