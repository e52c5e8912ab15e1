"""`start_state.files` follows from what the tests import, not from where the bug is."""

from __future__ import annotations

from redtogreen.tasks.admission.relevant_files import relevant_files

SOURCES = {
    "src/shop/__init__.py": b"from shop.cart import Cart\nfrom .prices import total\n",
    "src/shop/cart.py": b"from . import rules\n",
    "src/shop/prices.py": b"x = 1\n",
    "src/shop/rules.py": b"x = 1\n",
    "src/shop/other.py": b"x = 1\n" * 50,
}


def test_imports_of_the_tests_and_through_the_package():
    found = relevant_files({"tests/t.py": b"import shop\n"}, SOURCES, ["src", "."])
    assert found == ["src/shop/__init__.py", "src/shop/cart.py", "src/shop/prices.py"]


def test_filled_up_to_three():
    found = relevant_files({"tests/t.py": b"from shop import cart\n"}, SOURCES, ["src", "."])
    assert "src/shop/cart.py" in found and len(found) >= 3 and found == sorted(found)
    assert len(relevant_files({"tests/t.py": b"def broken(:\n"}, SOURCES, ["src"])) == 3
    assert relevant_files({"tests/t.py": b"import a\n"}, {"a.py": b""}, ["."]) == ["a.py"]
