"""Grading a diff or a folder gives the same verdicts as grading the changes."""

from __future__ import annotations

import pytest

from redtogreen.errors import UsageError
from redtogreen.execution.trees import export_tree, load_tree
from redtogreen.grading import grade_patch, grade_workspace

CART_PATH = "src/shop/cart.py"


def test_the_reference_patch_is_solved_and_an_empty_one_failed(shop):
    task, store, _ = shop
    assert grade_patch(task, task.reference.patch, store).outcome == "solved"
    assert grade_patch(task, "", store).outcome == "failed"


@pytest.mark.parametrize(
    "patch",
    [
        "not a patch at all\n",
        "diff --git a/src/shop/cart.py b/src/shop/cart.py\n--- a/src/shop/cart.py\n+++ b/src/shop/cart.py\n"
        "@@ -1,2 +1,2 @@\n-nothing like it\n+x\n",
        "diff --git a/../../etc/x b/../../etc/x\nnew file mode 100644\n--- /dev/null\n+++ b/../../etc/x\n"
        "@@ -0,0 +1 @@\n+x\n",
    ],
)
def test_a_patch_that_does_not_apply_is_failed_and_says_why(shop, patch):
    task, store, _ = shop
    verdict = grade_patch(task, patch, store)
    assert verdict.outcome == "failed" and verdict.error is None
    assert [finding.kind for finding in verdict.findings] == ["patch_rejected"]
    assert set(verdict.tests.values()) == {"absent"}


def test_a_patch_to_the_tests_is_dropped(shop):
    task, store, _ = shop
    patch = (
        "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n--- /dev/null\n+++ b/conftest.py\n"
        "@@ -0,0 +1 @@\n+x = 1\n"
    )
    verdict = grade_patch(task, patch + task.reference.patch, store)
    assert verdict.outcome == "solved" and [finding.kind for finding in verdict.findings] == ["test_configuration"]


def test_a_folder_is_compared_with_the_start_state(shop, tmp_path):
    task, store, solution = shop
    folder = tmp_path / "mine"
    export_tree(load_tree(task.start_state.tree, store), folder, store)
    assert grade_workspace(task, folder, store).outcome == "failed"
    (folder / CART_PATH).write_bytes(solution[CART_PATH].content)
    (folder / "tests" / "test_cart.py").unlink()
    verdict = grade_workspace(task, folder, store)
    assert verdict.outcome == "solved" and [f.kind for f in verdict.findings] == ["protected_file"]


def test_grading_a_folder_leaves_the_tasks_blobs_as_they_were(shop, tmp_path):
    task, store, _ = shop
    folder = tmp_path / "mine"
    export_tree(load_tree(task.start_state.tree, store), folder, store)
    (folder / "src" / "shop" / "secret.py").write_text("KEY = 'not to be kept'\n")
    before = list(store.names())
    grade_workspace(task, folder, store)
    assert list(store.names()) == before


def test_a_wrong_folder_is_said_to_be_one(shop, tmp_path):
    task, store, _ = shop
    (tmp_path / "other.txt").write_text("x")
    with pytest.raises(UsageError, match="none of the files"):
        grade_workspace(task, tmp_path, store)
    with pytest.raises(UsageError, match="not a folder"):
        grade_workspace(task, tmp_path / "missing", store)
