import pytest

from shelf.cache import LruCache


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


def test_stores_and_finds():
    cache = LruCache(2)
    cache.put("a", 1)
    assert cache.get("a") == 1
    assert cache.get("b") is None
    assert cache.get("b", 7) == 7


def test_least_recently_used_goes_first():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]


def test_storing_again_counts_as_use():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 10)
    cache.put("c", 3)
    assert cache.get("a") == 10
    assert "b" not in cache


def test_size_must_be_positive():
    with pytest.raises(ValueError):
        LruCache(0)
    assert LruCache(1).size == 1


def test_size_is_kept():
    cache = LruCache(3)
    for number in range(10):
        cache.put(number, number)
    assert len(cache) == 3
    assert cache.keys() == [7, 8, 9]


def test_old_entries_count_as_missing():
    clock = Clock()
    cache = LruCache(2, lifetime=10, clock=clock)
    cache.put("a", 1)
    clock.now = 9
    assert cache.get("a") == 1
    clock.now = 10
    assert "a" not in cache
    assert cache.get("a") is None
    assert len(cache) == 0


def test_storing_again_renews_the_lifetime():
    clock = Clock()
    cache = LruCache(2, lifetime=10, clock=clock)
    cache.put("a", 1)
    clock.now = 8
    cache.put("a", 2)
    clock.now = 15
    assert cache.get("a") == 2


def test_without_lifetime_nothing_gets_old():
    clock = Clock()
    cache = LruCache(2, clock=clock)
    cache.put("a", 1)
    clock.now = 10**9
    assert cache.get("a") == 1


def test_hit_rate():
    cache = LruCache(2)
    assert cache.hit_rate() == 0.0
    cache.put("a", 1)
    cache.get("a")
    cache.get("a")
    cache.get("x")
    cache.get("y")
    assert cache.hit_rate() == 0.5


def test_resize_drops_the_oldest():
    cache = LruCache(3)
    for key in "abc":
        cache.put(key, key)
    cache.resize(2)
    assert cache.keys() == ["b", "c"]
    assert cache.size == 2
    with pytest.raises(ValueError):
        cache.resize(0)
