"""Which reward tests a probe runs after each step."""

from __future__ import annotations

import hashlib

from redtogreen.records import Task

MAX_P2P = 100


def probe_tests(task: Task) -> list[str]:
    """Every F2P id, and the at most 100 P2P ids nearest to them: same file, then same folder, then by hash.

    Deterministic; in the order of the task's own lists.
    """
    files = {test.split("::", 1)[0] for test in task.tests.f2p}
    folders = {path.rpartition("/")[0] for path in files}

    def distance(test: str) -> tuple[int, str]:
        path = test.split("::", 1)[0]
        far = 0 if path in files else 1 if path.rpartition("/")[0] in folders else 2
        return far, hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()

    near = set(sorted(task.tests.p2p, key=distance)[:MAX_P2P])
    return [*task.tests.f2p, *(test for test in task.tests.p2p if test in near)]
