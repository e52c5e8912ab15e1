"""A task that nothing could solve is refused before anything is run on it."""

from __future__ import annotations

import msgspec
import pytest

from redtogreen.errors import TaskError, UsageError
from redtogreen.grading import check_gradable


@pytest.mark.parametrize("protected", [["**"], ["tests/**", "src/shop/cart.py"], ["*.py"]])
@pytest.mark.parametrize("part", ["whole", "no patch", "no reference"])
def test_protected_paths_that_cover_the_solution_are_refused(shop, protected, part):
    task, store, _ = shop
    check_gradable(task, store)
    task = msgspec.structs.replace(task, protected=protected)
    if part == "no patch":
        task.reference = msgspec.structs.replace(task.reference, patch="")
    elif part == "no reference":
        task.reference = None
        if len(protected) == 2:  # some other file could be the one to change
            check_gradable(task, store)
            return
    with pytest.raises(TaskError, match=f"protected by .*{protected[-1].replace('*', '[*]')}, for example [a-z]"):
        check_gradable(task, store)


def test_a_task_that_was_never_admitted_leads_to_admission(shop):
    task, store, _ = shop
    with pytest.raises(UsageError, match="never admitted") as caught:
        check_gradable(msgspec.structs.replace(task, environment=None), store)
    assert "tasks admit" in caught.value.hint
