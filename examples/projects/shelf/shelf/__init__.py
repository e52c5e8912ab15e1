"""Versions, intervals and a small cache."""

from shelf.cache import LruCache
from shelf.intervals import Interval, covered, merge
from shelf.versions import Version, compare, satisfies

__all__ = ["Interval", "LruCache", "Version", "compare", "covered", "merge", "satisfies"]
