"""Version numbers such as 1.4.2 or 2.0-rc1, and simple requirements on them."""

import re

_PATTERN = re.compile(r"^(\d+(?:\.\d+)*)(?:-?(a|b|rc)(\d+))?$")
_STAGES = {"a": 0, "b": 1, "rc": 2}


class Version:
    """A release number with an optional pre-release mark."""

    def __init__(self, text):
        match = _PATTERN.match(text.strip())
        if match is None:
            raise ValueError(f"not a version: {text!r}")
        numbers, stage, count = match.groups()
        self.release = tuple(int(part) for part in numbers.split("."))
        self.pre = None
        if stage is not None:
            self.pre = (_STAGES[stage], int(count))

    @property
    def is_prerelease(self):
        return self.pre is not None

    def key(self, width):
        """A tuple that sorts like the version; missing numbers count as zero."""
        padded = self.release + (0,) * (width - len(self.release))
        stage = (3, 0) if self.pre is None else self.pre
        return padded + stage

    def bump(self, part):
        """The next release after raising one of its numbers; later numbers become zero."""
        if part < 0:
            raise ValueError("part must not be negative")
        numbers = list(self.release)
        while len(numbers) <= part:
            numbers.append(0)
        numbers[part] += 1
        for later in range(part + 1, len(numbers)):
            numbers[later] = 0
        return Version(".".join(str(number) for number in numbers))

    def __str__(self):
        text = ".".join(str(number) for number in self.release)
        if self.pre is None:
            return text
        names = {rank: name for name, rank in _STAGES.items()}
        return f"{text}-{names[self.pre[0]]}{self.pre[1]}"


def compare(left, right):
    """-1, 0 or 1 as the left version is older than, equal to or newer than the right one."""
    first, second = Version(left), Version(right)
    width = max(len(first.release), len(second.release))
    a, b = first.key(width), second.key(width)
    if a < b:
        return -1
    if a > b:
        return 1
    return 0


def satisfies(version, requirement):
    """Whether a version fulfils every clause of a requirement such as ">=1.2, <2, !=1.5"."""
    for clause in requirement.split(","):
        clause = clause.strip()
        if not clause:
            continue
        match = re.match(r"^(>=|<=|==|!=|>|<|~)\s*(.+)$", clause)
        if match is None:
            raise ValueError(f"not a requirement: {clause!r}")
        operator, wanted = match.groups()
        if operator == "~":
            if not _compatible(version, wanted):
                return False
            continue
        order = compare(version, wanted)
        holds = {
            ">=": order >= 0,
            "<=": order <= 0,
            "==": order == 0,
            "!=": order != 0,
            ">": order > 0,
            "<": order < 0,
        }[operator]
        if not holds:
            return False
    return True


def _compatible(version, wanted):
    """~1.4 accepts 1.4 and everything newer below 2."""
    if compare(version, wanted) < 0:
        return False
    limit = Version(wanted).bump(max(len(Version(wanted).release) - 2, 0))
    return compare(version, str(limit)) < 0


def newest(versions, allow_prerelease=False):
    """The newest of some versions, or None when there is none to choose from."""
    best = None
    for version in versions:
        if Version(version).is_prerelease and not allow_prerelease:
            continue
        if best is None or compare(version, best) > 0:
            best = version
    return best
