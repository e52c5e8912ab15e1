"""What every sandbox must do, as plain functions: `check_*(open_box)` in the cases_* files beside this one.

pytest runs them in its own process; `python conformance.py [BACKEND]` runs them as any user with nothing but the
standard library, printing one JSON line per case. A case that fails where the backend itself says that the guarantee
the case needs is not enforced is skipped, with the backend's reason. Attacks are harmless imitations, and each refuses
to run outside a sandbox.
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

from redtogreen.execution.sandboxes import Mount, Preload, owner_for_lower

MODULES = ("cases_isolation", "cases_calls", "cases_limits", "cases_workspace", "cases_lifecycle", "cases_warm")
SECRET = "secret-of-the-host-4711"
PYTHON = os.path.realpath(sys.executable)
GUARD = """
import json, os, sys
shared_users = open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]
if shared_users and (os.getuid() == 0 or os.stat("/proc/self/ns/pid").st_ino == 4026531836):  # the machine's own
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


def needs(*guarantees: str):
    """Name what a case relies on beside the workspace itself."""

    def mark(case):
        case.needs = guarantees
        return case

    return mark


class Unclaimed(Exception):
    """A case failed for want of a guarantee that the backend does not claim to enforce; the text is its reason."""


class Boxes:
    """Opens sandboxes over one small lower tree, and knows the facts about the host that they must not."""

    def __init__(self, base: Path, backend: str = "namespace", *, warm: bool = False):
        self.base, self.backend, self.warm = base, backend, warm
        self.open_sandbox = importlib.import_module(f"redtogreen.execution.sandboxes.{backend}").open_sandbox
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
        box = self.open_sandbox(self.lower, **options)
        if self.warm:
            _warm.add(box)
        return box

    def check(self, case: Callable[[Boxes], None]) -> None:
        """Run one case. Raises Unclaimed where the backend is honest about not keeping what the case needs."""
        try:
            case(self)
        except Exception as error:
            with self() as box:
                reasons = [box.reasons[name] for name in getattr(case, "needs", ()) if name in box.reasons]
            if not reasons:
                raise
            raise Unclaimed("; ".join(reasons)) from error


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


def find(marker: str) -> list[int]:
    """Processes of the host, or of sandboxes on it, with this word on their command line; not the test's own."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[:2] == [b"sleep", marker.encode()]:
            found.append(pid)
    return found


def ancestors(pid: int, end: int) -> list[int]:
    """Parents of a process, nearest first, up to but without `end` or process 1."""
    found: list[int] = []
    while True:
        pid = parent(pid)
        if pid in (0, 1, end):
            return found
        found.append(pid)


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def cases(backend: str = "namespace") -> dict[str, Callable[[Boxes], None]]:
    """Name -> case, in the order of the files. Only the namespace backend starts anything warm."""
    found = {}
    for module in (name for name in MODULES if backend == "namespace" or name != "cases_warm"):
        for name, function in vars(importlib.import_module(module)).items():
            if name.startswith("check_"):
                found[f"{module.removeprefix('cases_')}-{name.removeprefix('check_')}"] = function
    return found


def main() -> None:
    base = Path(tempfile.mkdtemp())
    try:
        boxes = Boxes(base, *sys.argv[1:])
        for name, case in cases(boxes.backend).items():
            try:
                boxes.check(case)
            except Unclaimed as reason:
                print(json.dumps({"case": name, "error": None, "skipped": str(reason)}), flush=True)
            except Exception:
                print(json.dumps({"case": name, "error": traceback.format_exc()}), flush=True)
            else:
                print(json.dumps({"case": name, "error": None}), flush=True)
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    sys.modules["conformance"] = sys.modules["__main__"]
    main()
