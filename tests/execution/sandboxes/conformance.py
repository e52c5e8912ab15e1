"""What every sandbox must do, as plain functions: `check_*(open_box)` in the cases_* files beside this one.

pytest runs them in its own process; `python conformance.py` runs them as any user with nothing but the standard
library, printing one JSON line per case. Attacks are harmless imitations, and each refuses to run outside a sandbox.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path

from redtogreen.execution.sandboxes import Mount, Preload, open_sandbox, owner_for_lower

MODULES = ("cases_isolation", "cases_calls", "cases_limits", "cases_workspace", "cases_lifecycle", "cases_warm")
SECRET = "secret-of-the-host-4711"
PYTHON = os.path.realpath(sys.executable)
GUARD = """
import json, os, sys
if open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]:
    sys.exit("refusing to run outside a sandbox")
def say(**facts):
    print(json.dumps(facts), flush=True)
"""
TREE = {
    "a.txt": "alpha\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    "d/x": "x\n",
    "d/y": "y\n",
    "d/deep/z": "z\n",
    "src/module.py": "VALUE = 1\n",
}


WARM = Preload(
    interpreter=(PYTHON, "-I", "-S", "-B"), modules=("json", "socket", "ctypes", "multiprocessing.connection")
)
"""Cases of `Boxes(warm=True)` run their Python code from an interpreter that has these loaded."""
_warm: weakref.WeakSet = weakref.WeakSet()


def python_mounts() -> list[Mount]:
    """What the interpreter of these tests needs inside, when it is not the system's."""
    prefix = Path(PYTHON).parent.parent
    return [] if prefix == Path("/usr") else [Mount(prefix, str(prefix))]


class Boxes:
    """Opens sandboxes over one small lower tree, and knows the facts about the host that they must not."""

    def __init__(self, base: Path, *, warm: bool = False):
        self.base, self.warm = base, warm
        self.programs = base / "programs"
        self.programs.mkdir()
        (self.programs / "code.py").write_text("import sys\nexec(sys.argv.pop(1))\n")
        self.lower = base / "lower"
        for name, text in TREE.items():
            path = self.lower / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.lower / "run.sh").chmod(0o755)
        os.symlink("a.txt", self.lower / "link")
        (base / "secret.txt").write_text(SECRET)
        give_to_sandbox(self.lower)
        base.chmod(0o700)
        os.environ["REDTOGREEN_CONFORMANCE_SECRET"] = SECRET

    def __call__(self, **options):
        programs = [Mount(self.programs, "/opt/programs")] if self.warm else []
        options["mounts"] = [*python_mounts(), *programs, *options.get("mounts", ())]
        box = open_sandbox(self.lower, **options)
        if self.warm:
            _warm.add(box)
        return box


def give_to_sandbox(tree: Path) -> None:
    owner = owner_for_lower()
    if owner is not None:
        for path in (tree, *tree.rglob("*")):
            os.chown(path, owner, owner, follow_symlinks=False)


def attack(box, code: str, **options):
    """Run Python code inside, behind the guard."""
    if box not in _warm:
        return box.run([PYTHON, "-I", "-S", "-c", GUARD + code], **options)
    program = [*WARM.interpreter, "/opt/programs/code.py"]
    if not box.run([*program, "pass"], warm=WARM, env=options.get("env")).warm:
        assert box.run([*program, "pass"], warm=WARM, env=options.get("env")).warm  # starts when wanted twice
    result = box.run([*program, GUARD + code], warm=WARM, **options)
    assert result.warm
    return result


def answer(box, code: str, **options) -> dict:
    """What the code said, after it ended well."""
    result = attack(box, code, **options)
    assert result.exit_code == 0, (result.verdict, result.signal, result.stdout.text, result.stderr.text)
    return json.loads(result.stdout.text)


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def cases() -> dict[str, Callable[[Boxes], None]]:
    """Name -> case, in the order of the files."""
    found = {}
    for module in MODULES:
        for name, function in vars(importlib.import_module(module)).items():
            if name.startswith("check_"):
                found[f"{module.removeprefix('cases_')}-{name.removeprefix('check_')}"] = function
    return found


def main() -> None:
    base = Path(tempfile.mkdtemp())
    try:
        boxes = Boxes(base)
        for name, case in cases().items():
            try:
                case(boxes)
            except Exception:
                print(json.dumps({"case": name, "error": traceback.format_exc()}), flush=True)
            else:
                print(json.dumps({"case": name, "error": None}), flush=True)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    sys.modules["conformance"] = sys.modules["__main__"]
    main()
