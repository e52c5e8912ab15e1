"""What an agent is told: the symptom and how to see it, never where the bug is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.execution.testruns import Frame, TestResult
from redtogreen.tasks.admission.descriptions import Bug, describe, holds, symptom

TESTS = {
    "tests/test_shop.py": b"from shop.prices import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n"
    b"def test_report():\n    assert report() == 'ok'\n",
}
FAILURE = TestResult(
    status="failed",
    exception="TypeError",
    message="shop.prices.rounded() missing 1 argument at 0x7f00deadbeef",
    traceback="tests/test_shop.py:4: in test_total\n    assert total([1, 2]) == 3\nsrc/shop/prices.py:9: in total\n"
    "    return rounded(sum(items))\n"
    "E   TypeError: rounded() missing 1 argument in src/shop/prices.py at 0x7f00deadbeef",
    frames=[Frame("tests/test_shop.py", 4, "test_total"), Frame("src/shop/prices.py", 9, "total")],
)
BUG = Bug("src/shop/prices.py", "rounded")


def told(result=FAILURE, bug=BUG, salt="t/1", test="tests/test_shop.py::test_total"):
    return describe({test: result}, TESTS, [bug], ["src", "."], salt)


def test_symptom_test_line_and_command_are_told():
    text = told()
    assert "tests/test_shop.py::test_total" in text and "TypeError" in text
    assert "assert total([1, 2]) == 3" in text
    assert "python -m pytest tests/test_shop.py::test_total" in text
    assert "0x7f00deadbeef" not in text, "addresses would differ from run to run"


def test_file_module_function_and_source_lines_are_not_told():
    text = told()
    for word in ("src/shop/prices.py", "prices.py", "shop.prices", "rounded", "return rounded"):
        assert not holds(text, word), word


def test_a_function_the_failing_test_names_itself_may_be_told():
    failure = TestResult(
        status="failed", exception="TypeError", message="m", traceback="E   TypeError: total() is wrong"
    )
    assert "total() is wrong" in told(failure, Bug("src/shop/prices.py", "total"))


def test_a_method_is_masked_behind_its_class_too():
    failure = TestResult(
        status="failed", exception="E", message="", traceback="E   Basket.rounded() in shop.prices.rounded"
    )
    assert "rounded" not in told(failure, Bug("src/shop/prices.py", "Basket.rounded"))


def test_ids_with_spaces_are_quoted_in_the_command():
    assert "pytest 'tests/test_shop.py::test_total[a | b]'" in told(test="tests/test_shop.py::test_total[a | b]")


def test_wording_is_the_same_for_the_same_task_and_varies_between_tasks():
    assert told() == told()
    assert len({told(salt=str(number)) for number in range(30)}) > 4


def test_many_failures_are_counted_not_listed_whole():
    failing = {f"tests/test_shop.py::test_total[{n}]": FAILURE for n in range(40)}
    text = describe(failing, TESTS, [BUG], ["src", "."], "x")
    assert "40 tests" in text and "30 more" in text and len(text) < 4000


def test_symptoms_do_not_depend_on_addresses():
    other = TestResult(status="failed", exception="TypeError", message=FAILURE.message.replace("deadbeef", "00000001"))
    assert symptom(FAILURE) == symptom(other)


@given(st.from_regex(r"[a-z]{1,8}_[a-z]{1,8}", fullmatch=True), st.text(max_size=60))
def test_no_excerpt_ever_names_the_changed_function(function, noise):
    line = f"E   {noise} {function}() x.{function} '{function}' src/shop/{function}.py"
    failure = TestResult(status="failed", exception="ValueError", message=noise, traceback=line)
    text = told(failure, Bug(f"src/shop/{function}.py", f"Basket.{function}"))
    excerpt = text.split("ValueError`", 1)[1].split("To see it")[0]
    assert not holds(excerpt, function) and not holds(excerpt, f"{function}.py")
