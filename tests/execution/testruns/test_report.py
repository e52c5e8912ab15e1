"""Reading the report: it comes from where hostile code runs."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.execution.testruns.report import read_report

TOKEN = "ab" * 16
HELLO = {"kind": "hello", "pytest": "9", "python": "3"}
STATUSES = ["passed", "xpassed", "xfailed", "skipped", "failed", "error"]

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
records = st.lists(
    st.fixed_dictionaries(
        {"kind": st.just("test"), "id": texts, "status": st.sampled_from(STATUSES), "message": texts},
        optional={"stage": st.sampled_from(["setup", "call", "teardown"]), "exception": st.none() | texts},
    ),
    max_size=8,
)


def lines(*rows: dict, token: str = TOKEN) -> bytes:
    return b"".join(f"{token} {json.dumps(row)}\n".encode() for row in rows)


def end(number: int, **fields: object) -> dict:
    return {"kind": "end", "records": number, "exit_status": 0, "interrupted": False, **fields}


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise_or_look_complete(raw):
    report = read_report(raw, TOKEN)
    assert not report.complete
    assert report.tests == {}


@given(st.binary(max_size=100), records)
def test_foreign_lines_leave_results_alone_but_not_completeness(noise, tests):
    raw = lines(HELLO, *tests, end(len(tests) + 1))
    good, disturbed = read_report(raw, TOKEN), read_report(b"x" + noise + b"\n" + raw, TOKEN)
    assert good.complete
    assert not disturbed.complete
    assert disturbed.tests == good.tests


@given(records)
def test_the_worst_result_of_an_id_counts(tests):
    report = read_report(lines(HELLO, *tests, end(len(tests) + 1)), TOKEN)
    for test, result in report.tests.items():
        assert result.status == max((row["status"] for row in tests if row["id"] == test), key=STATUSES.index)
    assert report.tests.keys() == {row["id"] for row in tests}


@given(records, st.integers(0, 400))
def test_a_cut_report_is_never_complete(tests, size):
    raw = lines(HELLO, *tests, end(len(tests) + 1))
    assert not read_report(raw[: min(size, len(raw) - 2)], TOKEN).complete


def test_what_makes_a_report_incomplete():
    test = {"kind": "test", "id": "a", "status": "passed"}
    assert read_report(lines(HELLO, test, end(2)), TOKEN).complete
    assert not read_report(lines(test, end(1)), TOKEN).complete, "no greeting"
    assert not read_report(lines(HELLO, test), TOKEN).complete, "no end"
    assert not read_report(lines(HELLO, test, end(3)), TOKEN).complete, "a record is missing"
    assert not read_report(lines(HELLO, test, end(2, interrupted=True)), TOKEN).complete, "interrupted"
    assert not read_report(lines(HELLO, test, end(2), test), TOKEN).complete, "something after the end"
    forged = read_report(lines(HELLO, test, end(2), {"kind": "test", "id": "late", "status": "passed"}), TOKEN)
    assert "late" not in forged.tests
    other = read_report(lines(HELLO, test, end(2), token="cd" * 16), TOKEN)
    assert (other.tests, other.complete) == ({}, False), "another run's token"
