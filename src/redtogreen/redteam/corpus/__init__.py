"""The attacks, by what they bend."""

from __future__ import annotations

from redtogreen.redteam.attack import Attack
from redtogreen.redteam.corpus import answers, exits, files, objects, reading, runner

ATTACKS: tuple[Attack, ...] = (
    *exits.ATTACKS,
    *objects.ATTACKS,
    *runner.ATTACKS,
    *reading.ATTACKS,
    *files.ATTACKS,
    *answers.ATTACKS,
)
