"""Half-open intervals of numbers: the start belongs to them, the end does not."""


class Interval:
    """The numbers from start up to, and without, end."""

    def __init__(self, start, end):
        if end < start:
            raise ValueError("end before start")
        self.start = start
        self.end = end

    def __eq__(self, other):
        if not isinstance(other, Interval):
            return NotImplemented
        return (self.start, self.end) == (other.start, other.end)

    def __hash__(self):
        return hash((self.start, self.end))

    def __repr__(self):
        return f"Interval({self.start}, {self.end})"

    def __contains__(self, number):
        return self.start <= number < self.end

    def length(self):
        return self.end - self.start

    def overlaps(self, other):
        return self.start < other.end and other.start < self.end

    def intersection(self, other):
        """The common part, or None when there is none."""
        start = max(self.start, other.start)
        end = min(self.end, other.end)
        if start >= end:
            return None
        return Interval(start, end)

    def subtract(self, other):
        """What is left of this interval without the other one, in order."""
        common = self.intersection(other)
        if common is None:
            return [self]
        rest = []
        if self.start < common.start:
            rest.append(Interval(self.start, common.start))
        if common.end < self.end:
            rest.append(Interval(common.end, self.end))
        return rest


def merge(intervals):
    """The same numbers as a sorted list of intervals that neither overlap nor touch."""
    merged = []
    for interval in sorted(intervals, key=lambda item: (item.start, item.end)):
        if interval.length() == 0:
            continue
        if merged and interval.start <= merged[-1].end:
            last = merged[-1]
            merged[-1] = Interval(last.start, max(last.end, interval.end))
        else:
            merged.append(interval)
    return merged


def covered(intervals):
    """How many numbers are covered at least once."""
    return sum(interval.length() for interval in merge(intervals))


def gaps(intervals, within):
    """The parts of `within` that no interval covers, in order."""
    free = []
    position = within.start
    for interval in merge(intervals):
        if interval.end <= within.start or interval.start >= within.end:
            continue
        if interval.start > position:
            free.append(Interval(position, interval.start))
        position = max(position, interval.end)
    if position < within.end:
        free.append(Interval(position, within.end))
    return free


def busiest(intervals):
    """The first number at which most intervals overlap and how many they are; (None, 0) without any."""
    events = []
    for interval in intervals:
        if interval.length() > 0:
            events.append((interval.start, 1))
            events.append((interval.end, -1))
    best, where, active = 0, None, 0
    for number, change in sorted(events):
        active += change
        if active > best:
            best, where = active, number
    return where, best
