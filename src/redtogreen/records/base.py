"""The struct every record derives from, and the values shared by several of them."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = 1
"""Version of the record schema this code writes. Older files are migrated on reading, newer ones refused."""

TestStatus = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "absent"]
"""What one test id came to in one run; `absent`: expected, but the run never reported it."""


class Record(msgspec.Struct, forbid_unknown_fields=True):
    """Unknown fields are errors. Subclasses with `omit_defaults` leave fields out that hold their default."""
