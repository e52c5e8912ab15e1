"""A task that requires a guarantee is refused where it does not hold, never judged with less."""

from __future__ import annotations

import copy

from redtogreen.execution.sandboxes import guarantees
from redtogreen.execution.sandboxes.namespace import sandbox as namespace
from redtogreen.grading import grade


def test_a_weaker_sandbox_is_refused_and_says_which_guarantee(shop, monkeypatch):
    task, store, solution = shop
    task = copy.deepcopy(task)
    task.require = ["network", "memory"]
    levels, reasons = guarantees.held(memory_group=False, process_group=True, release="6.1.0")
    monkeypatch.setattr(namespace, "held", lambda **_: (levels, reasons))
    verdict = grade(task, solution, store)
    assert verdict.outcome == "grader_error" and not verdict.resolved, "a machine's weakness is never a reward of 0"
    assert "memory is best effort" in str(verdict.error) and "network" not in str(verdict.error)
    task.require = ["network"]
    assert grade(task, solution, store).outcome == "solved"


def test_an_unknown_guarantee_is_no_free_pass(shop):
    task, store, solution = shop
    task = copy.deepcopy(task)
    task.require = ["netwrok"]
    verdict = grade(task, solution, store)
    assert verdict.outcome == "grader_error" and "unknown guarantee 'netwrok'" in str(verdict.error)
