"""List the benchmarks with what each measures."""

from __future__ import annotations

import ast
from pathlib import Path


def main() -> None:
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem.startswith("_"):
            continue
        summary = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
        print(f"python -m benchmarks.{path.stem:<20} {summary[0] if summary else ''}")


if __name__ == "__main__":
    main()
