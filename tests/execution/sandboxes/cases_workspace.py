"""Reading what commands left, and writing into what they left."""

from __future__ import annotations

import os

from conformance import TREE, answer, attack

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes import FileChange, Limits


def _file(text: str, executable: bool = False) -> FileChange:
    return FileChange("file", text.encode(), executable)


_DELETED = FileChange("deleted")


def check_no_change_is_no_change(boxes):
    with boxes() as box:
        assert box.changes() == {}
        box.run(["sh", "-c", "touch a.txt d/x; mkdir empty; chmod 600 a.txt; cp d/y d/w; mv d/w d/y; find . | wc -l"])
        assert box.changes() == {} and box.skipped == []


def check_files_links_and_modes(boxes):
    with boxes() as box:
        box.run(["sh", "-c", "echo new > new; echo more >> a.txt; mkdir -p p/q; echo q > p/q/r; ln -sf d/x link;"])
        box.run(["sh", "-c", "ln -s /etc/shadow out; chmod +x d/x; chmod -x run.sh; printf '' > src/empty"])
        assert box.changes() == {
            "new": _file("new\n"),
            "a.txt": _file("alpha\nmore\n"),
            "p/q/r": _file("q\n"),
            "link": FileChange("link", b"d/x"),
            "out": FileChange("link", b"/etc/shadow"),
            "d/x": _file("x\n", executable=True),
            "run.sh": _file(TREE["run.sh"]),
            "src/empty": _file(""),
        }


def check_deletions(boxes):
    with boxes() as box:
        box.run(["sh", "-c", "rm d/x link"])
        assert box.changes() == {"d/x": _DELETED, "link": _DELETED}
        box.run(["rm", "-r", "d"])
        everything = {"d/x": _DELETED, "d/y": _DELETED, "d/deep/z": _DELETED}
        assert box.changes() == {**everything, "link": _DELETED}
        box.run(["sh", "-c", "mkdir d; echo x > d/x; echo new > d/new"])
        expected = {"d/y": _DELETED, "d/deep/z": _DELETED, "d/new": _file("new\n"), "link": _DELETED}
        assert box.changes() == expected, "a directory made again hides all the lower one held"
        box.run(["sh", "-c", "mkdir -p d/deep; echo other > d/deep/w"])
        assert box.changes() == {**expected, "d/deep/w": _file("other\n")}
        box.run(["sh", "-c", "echo z > d/deep/z; echo y > d/y; rm d/new d/deep/w; ln -s a.txt link"])
        assert box.changes() == {}


def check_one_kind_replaced_by_another(boxes):
    with boxes() as box:
        box.run(["sh", "-c", "rm -r d; echo file > d; rm a.txt; mkdir a.txt; echo in > a.txt/in; rm link; mkdir link"])
        changes = box.changes()
        assert changes == {
            "d": _file("file\n"),
            "d/x": _DELETED,
            "d/y": _DELETED,
            "d/deep/z": _DELETED,
            "a.txt": _DELETED,
            "a.txt/in": _file("in\n"),
            "link": _DELETED,
        }
    with boxes(changes=changes) as again:
        assert again.changes() == changes
        assert again.run(["cat", "d", "a.txt/in"]).stdout.text == "file\nin\n"


def check_renamed_directory(boxes):
    with boxes() as box:
        assert box.run(["mv", "d", "e"]).exit_code == 0
        moved = {f"e/{name}": _file(TREE[f"d/{name}"]) for name in ("x", "y", "deep/z")}
        assert box.changes() == {**moved, "d/x": _DELETED, "d/y": _DELETED, "d/deep/z": _DELETED}


def check_hostile_files_are_collected_safely(boxes):
    """Links are not followed, pipes do not block, holes do not fill memory, depth does not overflow the stack."""
    with boxes(limits=Limits(disk=8 * 2**20)) as box:
        result = attack(
            box,
            """
import socket
os.chdir("/work")
os.mkfifo("junit.xml")
os.mkfifo("d/pipe")
os.remove("a.txt")
os.mkfifo("a.txt")
socket.socket(socket.AF_UNIX).bind("socket")
os.symlink("/proc/self/environ", "environment")
os.symlink("/", "slash")
os.symlink("loop", "loop")
with open("sparse", "wb") as file:
    file.truncate(1 << 40)
with open("unreadable", "w") as file:
    file.write("u")
os.chmod("unreadable", 0)
os.mkdir("closed")
open("closed/inside", "w").write("i")
os.chmod("closed", 0)
open(b"bad\\xff", "w").write("b")
open("line\\nbreak", "w").write("l")
for number in range(1, 400):
    os.mkdir("down")
    os.chdir("down")
open("bottom", "w").write("bottom")
""",
        )
        assert result.exit_code == 0, result.stderr.text
        changes = box.changes()
        assert changes == {
            "a.txt": _DELETED,
            "environment": FileChange("link", b"/proc/self/environ"),
            "slash": FileChange("link", b"/"),
            "loop": FileChange("link", b"loop"),
            "unreadable": _file("u"),
            "closed/inside": _file("i"),
            "line\nbreak": _file("l"),
        }, list(changes)
        skipped = {entry.rsplit(" [")[0]: entry.rsplit(" [")[1] for entry in box.skipped}
        deep = [path for path in skipped if path.startswith("down/")]
        assert len(deep) == 1 and skipped.pop(deep[0]) == "too deep]"
        assert set(skipped) == {"a.txt", "junit.xml", "d/pipe", "socket", "sparse", "bad\\xff"}


def check_overlay_attributes_cannot_be_forged(boxes):
    """What marks deletions in the writable layer is out of the commands' reach."""
    with boxes() as box:
        facts = answer(
            box,
            """
import stat
tried = []
for path in ("/work/d", "/work/src"):
    for name in ("user.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect", "user.overlay.metacopy"):
        try:
            os.setxattr(path, name, b"y")
            tried.append("set")
        except OSError:
            tried.append("refused")
try:
    os.mknod("/work/d/x2", stat.S_IFCHR, 0)
    made = True
except OSError:
    made = False
say(tried=tried, made=made)
""",
        )
        assert len(facts["tried"]) == 8
        assert box.changes() == {} and box.skipped == []
        assert box.run(["cat", "d/x", "src/module.py"]).stdout.text == TREE["d/x"] + TREE["src/module.py"]


def check_many_names_of_one_big_file_stay_within_the_quota(boxes):
    with boxes(limits=Limits(disk=8 * 2**20)) as box:
        box.run(["sh", "-c", "head -c 3000000 /dev/zero > f0; for i in 1 2 3 4 5 6 7 8 9; do ln f0 f$i; done"])
        changes = box.changes()
        assert sum(len(change.content) for change in changes.values()) <= 8 * 2**20
        assert len(changes) + len(box.skipped) == 10


def check_written_files_are_the_commands_own(boxes):
    first = {
        "n/new.py": _file("print('hi')\n"),
        "tool": _file("#!/bin/sh\necho tool\n", executable=True),
        "s": FileChange("link", b"tool"),
        "d/x": _DELETED,
    }
    with boxes(changes=first) as box:
        assert box.run(["./s"]).stdout.text == "tool\n"
        result = box.run(["sh", "-c", "echo '#' >> n/new.py && rm tool && echo x > a.txt && ls d"])
        assert (result.exit_code, result.stdout.text) == (0, "deep\ny\n"), result
        assert answer(box, "say(own=os.stat('/work/s', follow_symlinks=False).st_uid == os.getuid())")["own"]
        box.write({"a.txt": _file(TREE["a.txt"]), "d/x": _file(TREE["d/x"]), "n/new.py": _DELETED, "s": _DELETED})
        assert box.changes() == {}
        assert (boxes.lower / "a.txt").read_text() == TREE["a.txt"]


def check_write_never_follows_links(boxes):
    with boxes() as box:
        box.run(["sh", "-c", "rm -r d; ln -s /tmp d; ln -s src also; rm a.txt; ln -s /tmp/target a.txt"])
        box.run(["sh", "-c", "echo t > /tmp/target; mkdir /tmp/deep; mkfifo pipe; echo f > file"])
        for path in ("d/x", "also/module.py", "file/x", "pipe/x"):
            for change in (_file("no"), FileChange("link", b"x")):
                try:
                    box.write({path: change})
                except SandboxError as error:
                    assert path in error.message and error.hint
                else:
                    raise AssertionError(f"{path} was written")
        box.write({"a.txt": _file("mine"), "pipe": _file("a file now")})
        assert box.run(["cat", "/tmp/target", "a.txt", "pipe"]).stdout.text == "t\nminea file now"
        assert box.run(["ls", "/tmp"]).stdout.text == "deep\ntarget\n"
        assert box.run(["cat", "src/module.py"]).stdout.text == TREE["src/module.py"]


def check_write_replaces_directories(boxes):
    with boxes() as box:
        box.run(["sh", "-c", "rm src/module.py; mkdir -p src/module.py/x/a/b; echo > src/module.py/x/y"])
        box.run(["sh", "-c", "ln -s /tmp src/module.py/out; mkfifo src/module.py/x/pipe; chmod 0 src/module.py/x"])
        box.write({"src/module.py": _file("fresh\n"), "d": _file("was a directory\n")})
        assert box.run(["cat", "src/module.py", "d"]).stdout.text == "fresh\nwas a directory\n"


def check_bad_paths_are_refused(boxes):
    with boxes() as box:
        for path in ("/etc/passwd", "../x", "a/../../x", "", "a//b", "./a", "a/.", "nul\0", ".."):
            try:
                box.write({path: _file("no")})
            except SandboxError:
                continue
            raise AssertionError(f"{path!r} was accepted")
        assert box.changes() == {}


def check_a_full_workspace_is_a_clear_error(boxes):
    with boxes(limits=Limits(disk=2**20)) as box:
        try:
            box.write({"big": FileChange("file", bytes(2**21))})
        except SandboxError as error:
            assert "big" in error.message and "disk" in (error.hint or "")
        else:
            raise AssertionError("it fitted")


def check_the_lower_tree_is_never_touched(boxes):
    def snapshot() -> dict:
        paths = sorted(boxes.lower.rglob("*"))
        return {str(p): (p.lstat().st_mode, p.lstat().st_uid, p.read_bytes() if p.is_file() else None) for p in paths}

    before = snapshot()
    with boxes() as box:
        box.run(["sh", "-c", "rm -rf /work/* /work/.[a-z]*; mkdir /work/d; echo evil > /work/a.txt; chmod 777 /work"])
        box.write({"src/module.py": _file("evil")})
    assert snapshot() == before
    assert os.listdir(boxes.base / "lower") != []
