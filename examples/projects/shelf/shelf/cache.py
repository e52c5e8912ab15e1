"""A cache that forgets what was not used for longest."""

from collections import OrderedDict


class LruCache:
    """Keeps at most `size` entries; with `lifetime`, entries older than that count as missing."""

    def __init__(self, size, lifetime=None, clock=None):
        if size < 1:
            raise ValueError("size must be at least 1")
        self.size = size
        self.lifetime = lifetime
        self.clock = clock
        self.hits = 0
        self.misses = 0
        self._entries = OrderedDict()

    def _now(self):
        return 0 if self.clock is None else self.clock()

    def _expired(self, stored):
        if self.lifetime is None:
            return False
        return self._now() - stored >= self.lifetime

    def get(self, key, default=None):
        """The value of a key, which then counts as used; the default when it is missing or too old."""
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return default
        value, stored = entry
        if self._expired(stored):
            del self._entries[key]
            self.misses += 1
            return default
        self._entries.move_to_end(key)
        self.hits += 1
        return value

    def put(self, key, value):
        """Store a value; the least recently used entry goes when there is no room."""
        if key in self._entries:
            self._entries.move_to_end(key)
        self._entries[key] = (value, self._now())
        while len(self._entries) > self.size:
            self._entries.popitem(last=False)

    def __len__(self):
        return len(self._entries)

    def __contains__(self, key):
        entry = self._entries.get(key)
        return entry is not None and not self._expired(entry[1])

    def hit_rate(self):
        """Share of look-ups that found something, 0.0 before the first one."""
        total = self.hits + self.misses
        if total == 0:
            return 0.0
        return self.hits / total

    def resize(self, size):
        """Change the size; surplus entries go, least recently used first."""
        if size < 1:
            raise ValueError("size must be at least 1")
        self.size = size
        while len(self._entries) > size:
            self._entries.popitem(last=False)

    def keys(self):
        """Keys from least to most recently used."""
        return list(self._entries)
