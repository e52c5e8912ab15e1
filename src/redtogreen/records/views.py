"""Reading a step the same way whoever produced it.

Producers drift: `applied` stands in the feedback or in the observation, a test run arrives as `run_test` or as
`run_command`, `compile_error` is missing when there was none. Everything that judges steps asks here.
"""

from __future__ import annotations

import re

from redtogreen.records.trajectory import Step

EDITS = ("edit_file", "create_file", "delete_file")
_TEST_COMMAND = re.compile(r"\b(pytest|py\.test|unittest|tox|nox)\b")


def is_edit(step: Step) -> bool:
    return step.action in EDITS


def applied(step: Step) -> bool:
    """Whether an edit really changed the workspace."""
    if not is_edit(step):
        return False
    said = step.feedback.applied
    if said is None:
        said = step.observation.get("applied")
    return said is True


def is_test_run(step: Step) -> bool:
    if step.action == "run_test":
        return True
    if step.action != "run_command":
        return False
    if step.feedback.passed is not None or step.feedback.failed is not None:
        return True
    return bool(_TEST_COMMAND.search(str(step.params.get("cmd", ""))))


def compile_error(step: Step) -> bool | None:
    """True or False when the step says whether the code compiles, None when it does not say."""
    if step.feedback.compile_error is not None:
        return step.feedback.compile_error
    count = step.observation.get("parse_errors")
    return count > 0 if isinstance(count, int) and not isinstance(count, bool) else None
