"""Which of the files that standard input names, a JSON list, do not parse: a byte each on descriptor 3, 1: it does not.

What has no answer is bad, too: the compiler itself came to grief on it. Started with `python -I -S`.
"""

import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
for path in json.load(sys.stdin):
    try:
        with open(path, "rb") as file:
            compile(file.read(), path, "exec", dont_inherit=True)
        bad = b"0"
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        bad = b"1"
    os.write(3, bad)
