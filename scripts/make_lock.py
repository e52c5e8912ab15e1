"""Write requirements.lock: the exact versions this checkout is tested with, resolved from pyproject.toml."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD_TOOLS = ("hatchling", "editables")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"], *BUILD_TOOLS]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    report = json.loads(subprocess.run([*command, *wanted], check=True, capture_output=True).stdout)
    pins = sorted(f"{item['metadata']['name'].lower()}=={item['metadata']['version']}" for item in report["install"])
    header = "# Made by `make lock` from pyproject.toml. The versions this checkout is tested with.\n"
    (ROOT / "requirements.lock").write_text(header + "\n".join(pins) + "\n")
    print(f"{len(pins)} packages pinned")


if __name__ == "__main__":
    main()
