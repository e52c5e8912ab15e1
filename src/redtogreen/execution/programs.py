"""Our own programs inside a sandbox that need nothing of the environment but its interpreter."""

from __future__ import annotations

from redtogreen.execution.sandboxes import Preload
from redtogreen.execution.testruns.run import PROGRAMS

ISOLATED = Preload(interpreter=("/env/bin/python", "-I", "-S", "-B"), modules=("actions",), folder=PROGRAMS)
"""Neither the workspace nor the environment can put anything on this interpreter's path."""
ACT = [*ISOLATED.interpreter, f"{PROGRAMS}/act.py"]
PARSE = [*ISOLATED.interpreter, f"{PROGRAMS}/parse.py"]
