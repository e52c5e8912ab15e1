"""The page shows what an agent wrote and obeys none of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from msgspec import structs

from redtogreen.insight.facts import gather
from redtogreen.insight.report import facts_of, render, write_report
from redtogreen.insight.report.charts import histogram
from redtogreen.insight.summary import facts_data, facts_text
from redtogreen.records import Task, Trajectory, write_jsonl
from redtogreen.records.task import Provenance, StartState, TestSets
from redtogreen.rewards import score
from redtogreen.tasks.files import Reject, write_rejects

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags, attributes and whether every element is closed."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def scored(row: Trajectory):
    return score(row, "default")


def test_hostile_texts_are_shown_and_not_obeyed(hostile: Trajectory) -> None:
    html = render(gather("</title><script>x", [hostile], scored))
    page = Page(html)
    assert page.open == []
    assert not set(page.tags) & {"script", "img", "iframe", "object", "link", "base", "form", "a"}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "action")]
    assert "<script>alert(1)</script>" in page.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", html)
    assert "\\x1b[31mred" in page.text


def test_the_page_loads_nothing(example: Trajectory) -> None:
    html = render(gather("x", [example], scored))
    assert "default-src 'none'" in html
    assert not re.search(r"url\(|@import|https?://|//cdn", html)


def test_the_page_holds_what_a_report_promises(example: Trajectory) -> None:
    failed = structs.replace(example, attempt="other", success=False, outcome="failed")
    html = render(
        gather(
            "runs/first",
            [example, failed],
            lambda row: score(row, "classic"),
            funnel=[("candidates", 10), ("admitted", 4), ("kept", 2), ("rows", 2)],
            dropped={"admission": {"survived": 5, "timeout": 1}, "cleaning": {"min_reward": 0}},
        )
    )
    text = Page(html).text
    for word in ("candidates", "admitted", "attempts", "solved", "kept", "rows", "survived", "confkit-0.4.1"):
        assert word in text
    for word in ("search_symbol", "def parse_config", "12 passed, 0 failed", "reward 5.2", "+0.2"):
        assert word in text
    assert 'class="plus"' in html
    assert "recipe classic" in text


def test_the_size_is_bounded_whatever_comes_in(hostile: Trajectory) -> None:
    step = hostile.trajectory[0]
    long = structs.replace(hostile, trajectory=[structs.replace(step, step=number) for number in range(1, 401)])
    rows = [structs.replace(long, attempt=str(number), outcome=outcome) for number in range(10) for outcome in OUTCOMES]
    html = render(gather("x", rows, scored))
    assert len(html) < 12_000_000
    assert "steps are left out" in html


OUTCOMES = ["solved", "failed", "tampered", "environment_error", "grader_error", "interrupted"]


def test_an_empty_input_is_a_page_too(tmp_path: Path) -> None:
    written = write_report(gather("nothing", [], scored), tmp_path / "deep" / "report.html")
    assert "No attempts." in Page(written.read_text()).text


def test_a_run_folder_tells_operators_and_rejects(tmp_path: Path, example: Trajectory) -> None:
    task = Task(
        task_id=example.task_id,
        kind="fix",
        source="mutate",
        task_desc="x",
        provenance=Provenance(project="confkit", operator="cond_negate"),
        start_state=StartState(),
        tests=TestSets(),
    )
    write_jsonl(tmp_path / "tasks.jsonl", [task])
    write_rejects(
        tmp_path / "tasks.jsonl", [Reject(task_id="b", reason="survived"), Reject(task_id="c", reason="hangs")]
    )
    facts = facts_of(tmp_path, [example], scored)
    assert facts.funnel == [("candidates", 3), ("admitted", 1), ("attempts", 1), ("solved", 1)]
    assert facts.dropped == {"admission": {"survived": 1, "hangs": 1}}
    assert facts.by_project == {"confkit": {"solved": 1}}
    assert facts.by_operator == {"cond_negate": {"solved": 1}}
    assert "cond_negate" in render(facts)
    assert "cond_negate" in facts_text(facts)
    assert facts_data(facts)["funnel"][0] == {"stage": "candidates", "count": 3}


def test_a_histogram_counts_every_value() -> None:
    svg = histogram([0.0] * 3 + [1.0] * 2 + [0.5], "reward")
    assert sum(int(count) for count in re.findall(r'text-anchor="middle">(\d+)</text>', svg)[:3]) == 6
    assert "6 values from 0 to 1" in svg
    assert svg.count("<rect") == 3 and "<title>0.5: 1</title>" in svg, "a bar per value when there are few"
    spread = histogram([number / 7 for number in range(50)], "reward")
    assert spread.count("<rect") == 21 and "<title>0 to 0.3333: 3</title>" in spread
    assert "No values" in histogram([], "reward")
    assert "<svg" in histogram([2.0, 2.0], "all equal")
