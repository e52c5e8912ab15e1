"""A probe runs every F2P test and a bounded, always equal choice of the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.grading import probe_tests
from redtogreen.records import Provenance, StartState, Task, TestSets

PATHS = st.sampled_from(["tests/a.py", "tests/b.py", "more/c.py"])
IDS = st.lists(st.builds("{}::test_{}".format, PATHS, st.integers(0, 400)), unique=True, max_size=300)


def task(f2p: list[str], p2p: list[str]) -> Task:
    return Task(
        task_id="t",
        kind="fix",
        source="mutate",
        task_desc="",
        provenance=Provenance(project="p"),
        start_state=StartState(),
        tests=TestSets(f2p=f2p, p2p=p2p),
    )


@given(IDS)
def test_bounded_nearest_first_and_deterministic(ids):
    f2p, p2p = ids[:3], ids[3:]
    chosen = probe_tests(task(f2p, p2p))
    assert chosen[: len(f2p)] == f2p and len(chosen) == len(f2p) + min(100, len(p2p))
    assert chosen == probe_tests(task(f2p, p2p)) and set(chosen) <= set(ids)
    files = {test.split("::")[0] for test in f2p}
    near = [test for test in p2p if test.split("::")[0] in files]
    if len(near) <= 100:
        assert set(near) <= set(chosen)
