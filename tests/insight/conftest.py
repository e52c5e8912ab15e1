"""Trajectories to look at, among them one that tries to break out of what shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen.records import (
    Feedback,
    FinalState,
    Metadata,
    Probe,
    StartState,
    Step,
    TestSummary,
    Trajectory,
    read_strict,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
HOSTILE = (
    "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31mred\x1b]0;title\x07"
    "\x00\x08\u202egnp.exe\u2066\u200b\x9b5m\r]]> ' \" &amp; <!-- "
)


@pytest.fixture
def example() -> Trajectory:
    return next(read_strict(EXAMPLES / "config-parser.jsonl", Trajectory))


@pytest.fixture
def hostile() -> Trajectory:
    """Every text an agent can write holds something that must not be believed."""
    step = Step(
        stage="coding",
        step=1,
        action="edit_file",
        params={"path": HOSTILE, "start_line": 1, "end_line": 2, "new_content": HOSTILE, HOSTILE: HOSTILE},
        observation={HOSTILE: HOSTILE, "stdout_tail": HOSTILE * 2000, "list": [HOSTILE], "deep": {"x": [HOSTILE]}},
        feedback=Feedback(status="ok", applied=True, passed=1, failed=2),
        probe=Probe(tests={HOSTILE: "failed"}, exceptions=[HOSTILE], failure_stage="assertion"),
        diff=f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}\n",
    )
    return Trajectory(
        task_id=HOSTILE,
        attempt=HOSTILE,
        task_desc=HOSTILE,
        start_state=StartState(),
        trajectory=[step],
        final_state=FinalState(patch=HOSTILE, test_summary=TestSummary(passed=1, failed=2)),
        outcome="failed",
        success=False,
        metadata=Metadata(project=HOSTILE, error=HOSTILE),
    )
