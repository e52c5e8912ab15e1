"""False alarms of the detectors on honest code taken as if it were new, per class; milliseconds per change.

    python -m benchmarks.detectors [folder ...] [--files 600] [--seed 0]

Every Python file of the folders (default: the standard library and the installed packages) is given to the detectors as
a file that was not there before: the hardest case, for only what a change adds counts. A second measurement moves
every line of each file and adds a function, and takes the time of that.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sysconfig
import time
from collections import Counter
from pathlib import Path

from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.grading.detectors import detect
from redtogreen.records import Finding, Provenance, StartState, Task, TestSets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    paths = sysconfig.get_paths()
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(paths["stdlib"]), Path(paths["purelib"])])
    parser.add_argument("--files", type=int, default=600, help="at most this many, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    files = sorted({path for folder in arguments.folders for path in folder.rglob("*.py") if not _is_test(path)})
    draw = random.Random(arguments.seed)
    texts = [path.read_bytes() for path in draw.sample(files, min(arguments.files, len(files)))]
    texts = [text for text in texts if 0 < len(text) < 200_000]

    print(f"{len(texts)} files of {len(files)}, {sum(map(len, texts)) / 1e6:.1f} MB, as new files:")
    _table([detect(_task(), {"module.py": FileChange("file", text)}, {}) for text in texts])

    fixed, milliseconds = [], []
    for text in texts:
        changed = b"# Every line below moves by one.\n" + text + b"\n\ndef twice(number):\n    return 2 * number\n"
        changes, start = {"module.py": FileChange("file", changed)}, {"module.py": text}
        fixed.append(detect(_task(), changes, start))  # as later grades of a task: the start is known
        began = time.perf_counter()
        detect(_task(), changes, start)
        milliseconds.append((len(text), 1000 * (time.perf_counter() - began)))
    print(f"\n{len(fixed)} files moved by a line and with one function more:")
    _table(fixed)
    middle = statistics.median(spent for _, spent in milliseconds)
    per_kilobyte = sum(spent for _, spent in milliseconds) / sum(size / 1000 for size, _ in milliseconds)
    print(f"\n{middle:.1f} ms per change in the middle, {per_kilobyte:.2f} ms per 1000 bytes of changed file")


def _is_test(path: Path) -> bool:
    parts = {part.lower() for part in path.parts}
    return bool(parts & {"test", "tests", "idle_test", "testing"}) or path.name.startswith("test_")


def _task() -> Task:
    return Task(
        task_id="stress",
        kind="fix",
        source="folder",
        task_desc="",
        provenance=Provenance(project="stress"),
        start_state=StartState(tree="sha256:0"),
        tests=TestSets(),
    )


def _table(found: list[list[Finding]]) -> None:
    classes = Counter(pair for findings in found for pair in {(one.severity, one.kind) for one in findings})
    for severity in ("high", "medium", "low"):
        hit = sum(any(one.severity == severity for one in findings) for findings in found)
        print(f"  {severity:<7} {hit:>5} files  {100 * hit / len(found):5.1f} %")
        for (level, kind), count in classes.most_common():
            if level == severity:
                print(f"      {kind:<24} {count:>5}  {100 * count / len(found):5.1f} %")


if __name__ == "__main__":
    main()
