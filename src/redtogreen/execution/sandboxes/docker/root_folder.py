"""The root folder of a container: empty but for a few files, the system's programs are mounted into it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from ..leases import lease
from ..namespace import root_filesystem
from ..requests import SANDBOX_ID
from .engine import Engine
from .orphans import PREFIX

_FOLDERS = ("dev", "etc", "proc", "run/report", "sys", "tmp", "work")


def make_root() -> Path:
    """A new folder; the caller removes it."""
    root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{lease(os.getpid())}-"))
    root.chmod(0o755)
    for name in _FOLDERS:
        (root / name).mkdir(parents=True)
    for name in root_filesystem.SYSTEM:
        if os.path.islink(f"/{name}"):
            (root / name).symlink_to(os.readlink(f"/{name}"))
        elif os.path.isdir(f"/{name}"):
            (root / name).mkdir()
    for name, text in root_filesystem.ETC.items():
        (root / "etc" / name).write_text(text.replace(":1000:1000:", f":{SANDBOX_ID}:{SANDBOX_ID}:"))
    return root


def system_mounts() -> list[str]:
    """Options that show the system's programs read-only."""
    options = []
    for name in root_filesystem.SYSTEM:
        if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}"):
            options += ["--volume", f"/{name}:/{name}:ro"]
    for name in root_filesystem.CONFIGURATION:
        if os.path.exists(f"/etc/{name}"):
            options += ["--volume", f"/etc/{name}:/etc/{name}:ro"]
    return options


def as_image(engine: Engine, root: Path) -> list[str]:
    """The last words of `run` that choose this root: a folder for Podman, for Docker an image made of it."""
    if engine.name == "podman":
        return ["--rootfs", str(root)]
    packed = subprocess.run(["tar", "-C", str(root), "-c", "."], capture_output=True, check=True).stdout
    return [engine.ask("import", "-", given=packed)]
