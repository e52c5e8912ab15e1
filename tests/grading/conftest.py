"""A small project with a real bug, admitted through the real chain: what the grader is tried on."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from redtogreen.execution.trees import difference, load_tree
from redtogreen.grading import is_protected
from redtogreen.tasks import admit, blobs_of, make_folder_task, read_rejects, read_tasks

CART = """\
\"\"\"A basket of things with prices.\"\"\"


class Cart:
    def __init__(self):
        self.items = []

    def add(self, name, price, count=1):
        if count < 1:
            raise ValueError("count must be positive")
        self.items.append((name, price, count))

    def total(self):
        return sum(price * count for _, price, count in self.items)

    def names(self):
        return sorted({name for name, _, _ in self.items})
"""
TESTS = """\
import pytest

from shop import Cart


@pytest.fixture
def cart():
    cart = Cart()
    cart.add("tea", 3, 2)
    cart.add("milk", 1)
    return cart


def test_total(cart):
    assert cart.total() == 7


def test_total_of_one():
    cart = Cart()
    cart.add("tea", 3, 4)
    assert cart.total() == 12


class TestMany:
    @pytest.mark.parametrize("count", [2, 3], ids=["two | 2", "three"])
    def test_total_counts(self, cart, count):
        cart.add("rice", 2, count)
        assert cart.total() == 7 + 2 * count


def test_names(cart):
    assert cart.names() == ["milk", "tea"]


def test_empty_total():
    assert Cart().total() == 0


def test_count_is_checked():
    with pytest.raises(ValueError):
        Cart().add("tea", 3, 0)
"""
BUGGY = CART.replace("price * count for", "price for")
CART_PATH = "src/shop/cart.py"


def write_project(folder: Path, cart: str = CART, tests: str = TESTS) -> Path:
    files = {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\nlicense = "MIT"\n',
        "src/shop/__init__.py": "from shop.cart import Cart\n\n__all__ = ['Cart']\n",
        CART_PATH: cart,
        "src/shop/stock.py": "LEVELS = {}\n",
        "tests/test_cart.py": tests,
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """(task, its blobs, the changes that solve it)."""
    return open_shop(tmp_path_factory.mktemp("shop"), TESTS)


@pytest.fixture(scope="session")
def shop_with(tmp_path_factory):
    """shop_with(more): the same with these tests besides."""
    return lambda more: open_shop(tmp_path_factory.mktemp("shop"), TESTS + more)


def open_shop(base: Path, tests: str):
    start, solved = write_project(base / "start", BUGGY, tests), write_project(base / "solved", tests=tests)
    make_folder_task(start, base / "made.jsonl", tests=["tests"], reference=solved)
    report = admit(base / "made.jsonl", base / "tasks.jsonl", workers=1, runs=2)
    assert report.admitted == 1, read_rejects(base / "tasks.jsonl")
    (task,) = read_tasks(base / "tasks.jsonl")
    store = blobs_of(base / "tasks.jsonl")
    changes = difference(load_tree(task.start_state.tree, store), load_tree(task.reference.tree, store), store)
    return task, store, {path: change for path, change in changes.items() if not is_protected(task, path)}


@pytest.fixture
def hurried(shop):
    """The same task with seconds instead of half a minute for the tests."""
    task = copy.deepcopy(shop[0])
    task.extra["grading_seconds"] = 8.0
    return task, shop[1]
