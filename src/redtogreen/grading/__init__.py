"""Task + changed files -> what was achieved, decided out of the agent's reach.

`gradable` refuses tasks that nothing could solve, `overlay` says which changes count, `grade` runs the reward tests in
a fresh sandbox and gives the verdict, `patches` grades a diff or a folder, `probe_tests` picks what a probe runs.
"""

from __future__ import annotations

from redtogreen.grading.gradable import check_gradable
from redtogreen.grading.grade import Judgement, grade, judge
from redtogreen.grading.overlay import allowed_changes, grading_tree, is_protected
from redtogreen.grading.patches import grade_patch, grade_workspace
from redtogreen.grading.probe_tests import probe_tests
from redtogreen.grading.workspace import grading_seconds, load_workspace, parse_size, sandbox_limits

__all__ = [
    "Judgement",
    "allowed_changes",
    "check_gradable",
    "grade",
    "grade_patch",
    "grade_workspace",
    "grading_seconds",
    "grading_tree",
    "is_protected",
    "judge",
    "load_workspace",
    "parse_size",
    "probe_tests",
    "sandbox_limits",
]
