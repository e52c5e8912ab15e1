"""Where the paths of a sandbox really lie. Without a mount namespace a command sees the host's paths only."""

from __future__ import annotations

import re
from collections.abc import Mapping


class Places:
    """Rewrites the promised paths to the real ones: in the words of a command, its variables and its folder.

    A path is rewritten wherever it stands alone: `cd /work && ls /work/src` and `PATH=/env/bin:/usr/bin`, not
    `/home/work` nor `/workers`. What a program itself holds, reads or prints is not.
    """

    def __init__(self, real: Mapping[str, str]):
        self.real = {promised: path for promised, path in real.items() if promised != path}
        longest_first = sorted(self.real, key=len, reverse=True)
        paths = "|".join(re.escape(path) for path in longest_first)
        self._pattern = re.compile(rf"(?<![\w./~-])({paths})(?![\w.-])")

    def inside(self, text: str) -> str:
        return self._pattern.sub(lambda found: self.real[found[1]], text)
