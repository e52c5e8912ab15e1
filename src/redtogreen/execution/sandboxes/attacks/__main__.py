"""The attack table with nothing but the standard library, one JSON object per attack, for any user and any Python.

    python3 -m redtogreen.execution.sandboxes.attacks [BACKEND]

`redtogreen doctor --self-test` is the same for a person.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from redtogreen.errors import RedToGreenError

from .. import backends
from . import ATTACKS, attempt


def main(words: list[str]) -> int:
    """Print what came of every attack and control; 1 when one is not as it should be, 2 or 3 when nothing could run."""
    failed = 0
    try:
        opener = backends.opener(words[0] if words else backends.BACKENDS[0])
        for attack in ATTACKS:
            outcome, control = (attempt(attack, opener, control=control) for control in (False, True))
            good = outcome.worked is False and (control.worked is True or not control.ran)
            failed += not good
            print(json.dumps({"attack": attack.name, "seen": asdict(outcome), "control": asdict(control)}), flush=True)
    except RedToGreenError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
