"""The cases for the sandbox without namespaces, run inside a stand-in for a container (see test_landlock.py).

    python landlock_cases.py cases|attacks MACHINE

prints one JSON line per case or attack. MACHINE: JSON, the machine's own namespaces, in which no payload may run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from conformance import Boxes, Unclaimed, answer, attack, cases, eventually, find, parent

from redtogreen.execution.sandboxes import BASE_ENVIRONMENT, FileChange, Limits, Mount

PRESUPPOSES = {
    "isolation-host_environment_is_hidden": "/tmp and /env in the variables; here they name the real paths",
    "isolation-the_system_cannot_be_written": "a read-only mount; here it is Landlock that refuses",
    "isolation-all_of_proc_is_read_only": "a /proc of its own; here only what tells of the machine can be read",
    "isolation-no_privileges": "a host name of its own",
    "isolation-real_programs_find_what_they_need": "/dev/shm and, for an ordinary user, terminals",
    "calls-foreign_socket_families_are_refused": "that the internet's families are allowed",
    "calls-terminal_input_cannot_be_injected": "terminals, which an ordinary user shares with the host",
    "limits-time_out_ends_the_whole_tree": "that /proc can be listed",
    "limits-input_arguments_and_folder_arrive": "/work; here a folder has its real path",
    "workspace-hostile_files_are_collected_safely": "sockets in the file system",
    "lifecycle-a_killed_host_leaves_nothing": "a process 1",
    "lifecycle-a_killed_worker_leaves_nothing": "a process 1",
    "lifecycle-a_killed_init_leaves_nothing": "a process 1",
    "lifecycle-a_dead_init_is_a_sandbox_verdict": "a process 1",
    "lifecycle-a_machine_without_user_namespaces_is_named": "that this is a reason not to start",
}
"""Shared cases that need what only a namespace can give, whatever they test. The cases here take their places."""

_HOST = """
import sys
from pathlib import Path
from redtogreen.execution.sandboxes.landlock import open_sandbox
box = open_sandbox(Path(sys.argv[1]))
print(box.worker_process, box.paths["/work"], flush=True)
sleep = f"sleep {sys.argv[2]}"
box.run(["sh", "-c", f"setsid {sleep} & (setsid {sleep} &) ; {sleep}; true"], seconds=600)
"""


def check_paths_are_rewritten_wherever_they_stand(boxes):
    with boxes(env={"GIVEN": "/work/d:/usr/bin"}) as box:
        work, tmp = box.paths["/work"], box.paths["/tmp"]
        facts = answer(box, "say(env=dict(os.environ))", env={"EXTRA": "2"})
        assert facts["env"] == {
            **BASE_ENVIRONMENT, "HOME": tmp, "TMPDIR": tmp, "GIVEN": f"{work}/d:/usr/bin", "EXTRA": "2"
        }  # fmt: skip
        assert box.run(["pwd"], cwd="/work/d").stdout.text == f"{work}/d\n"
        assert box.run(["sh", "-c", "cd /work/src && echo $PWD >/tmp/x; cat </tmp/x"]).stdout.text == f"{work}/src\n"
        assert box.run(["cat", "/work/a.txt"]).stdout.text == "alpha\n"


def check_nothing_of_the_host_can_be_read_or_written(boxes):
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    with subprocess.Popen(["sleep", "60"]) as victim, boxes() as box:
        try:
            facts = answer(
                box,
                f"""
import ctypes, errno
def tried(function, *arguments):
    try:
        function(*arguments)
        return "allowed"
    except OSError as error:
        return errno.errorcode[error.errno]
def put(path):
    open(path, "a").write({pattern!r})
lower = {str(boxes.lower)!r}
secret = {str(boxes.base / "secret.txt")!r}
libc = ctypes.CDLL(None, use_errno=True)
say(read=[tried(open, path) for path in (secret, "/etc/shadow", "/proc/{victim.pid}/environ", "/proc/{victim.pid}/mem",
                                         "/proc/{victim.pid}/cmdline", "/proc/keys", lower + "/a.txt")],
    listed=[tried(os.listdir, path) for path in ("/", "/proc", "/home", "/dev/shm", "/etc", {str(boxes.base)!r})],
    written=[tried(put, path) for path in ("/usr/x", "/etc/passwd", "/x", "/dev/x", "/dev/shm/x", lower + "/a.txt",
        lower + "/new", "/var/tmp/x", "/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj")],
    signalled=[tried(os.kill, pid, 0) for pid in ({victim.pid}, os.getppid(), {os.getpid()})],
    traced=libc.ptrace(16, {victim.pid}, None, None))
""",
            )
            assert victim.poll() is None
        finally:
            victim.kill()
    for kind in ("read", "listed", "written"):
        assert set(facts[kind]) <= {"EACCES", "EPERM", "ENOENT"}, facts
    assert set(facts["signalled"]) == {"EPERM"} and facts["traced"] == -1, facts
    assert (boxes.lower / "a.txt").read_text() == "alpha\n" and not (boxes.lower / "new").exists()


def check_a_mount_can_be_read_and_what_is_covered_cannot(boxes):
    shown = boxes.base.parent / f"shown-{boxes.base.name}"
    for name in ("open/x", "closed/y"):
        (shown / name).parent.mkdir(parents=True, exist_ok=True)
        (shown / name).write_text(name)
    try:
        with boxes(mounts=[Mount(shown, "/env")], covered=["/env/closed"]) as box:
            result = box.run(["sh", "-c", "cat /env/open/x; cat /env/closed/y; echo no > /env/open/x"])
    finally:
        shutil.rmtree(shown)
    assert result.stdout.text == "open/x" and result.stderr.text.count("denied") == 2, result


def check_no_privileges(boxes):
    with boxes() as box:
        facts = answer(
            box,
            """
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines() if ":" in line)
try:
    os.setuid(0)
    became = True
except OSError:
    became = False
say(status={key: status[key].strip() for key in status}, became=became, uid=os.getuid(), groups=os.getgroups())
""",
        )
    status = facts["status"]
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"], facts["became"]) == ("1", "2", False)
    if os.geteuid() == 0:
        assert facts["groups"] == [] and facts["uid"] != 0 and status["CapBnd"] == "0" * 16


def check_every_socket_and_every_ipc_object_is_refused(boxes):
    with boxes() as box:
        facts = answer(
            box,
            """
import ctypes, errno, platform, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
column = ("x86_64", "aarch64").index(platform.machine())
def call(numbers, *words):
    result = libc.syscall(ctypes.c_long(numbers[column]), *(ctypes.c_long(word) for word in words))
    return "allowed" if result >= 0 else errno.errorcode[ctypes.get_errno()]
left, right = socket.socketpair()
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
try:
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
    limits = "allowed"
except PermissionError:
    limits = "refused"
say(sockets=[call((41, 198), family, kind, 0) for family in (1, 2, 10, 16, 17, 40) for kind in (1, 2, 3)],
    shared=[call((29, 194), 0, 4096, 0o1777), call((64, 190), 0, 1, 0o1777), call((68, 186), 0, 0o1777)], limits=limits)
""",
        )
    assert set(facts["sockets"]) == {"EAFNOSUPPORT"} and set(facts["shared"]) == {"ENOSYS"}, facts
    assert facts["limits"] == "refused"


def check_time_out_ends_the_whole_tree(boxes):
    marker = f"500.{os.getpid()}"
    with boxes() as box:
        script = f"trap '' TERM; for i in 1 2 3; do (setsid sleep {marker} &); done; echo before; sleep 60"
        result = box.run(["sh", "-c", script], seconds=1.0)
        assert (result.verdict, result.signal, result.stdout.text, result.strays) == ("timeout", 9, "before\n", 4), (
            result
        )
        assert not find(marker)


def check_respawners_are_ended(boxes):
    """Every generation is a daemon that leaves its session and its parent."""
    marker = f"400.{os.getpid()}"
    code = f"""
import subprocess
if os.fork():
    subprocess.Popen(["sleep", "{marker}"])
    os._exit(0)
while True:
    os.setsid()
    if os.fork():
        os._exit(0)
"""
    with boxes(limits=Limits(processes=20)) as box:
        attack(box, code)
        assert not find(marker)
        assert box.run(["true"]).verdict == "ok"


def check_hostile_files_are_collected_safely(boxes):
    with boxes(limits=Limits(disk=8 * 2**20)) as box:
        result = attack(
            box,
            """
os.chdir("/work")
os.mkfifo("junit.xml")
os.remove("a.txt")
os.mkfifo("a.txt")
os.symlink("/proc/self/environ", "environment")
with open("unreadable", "w") as file:
    file.write("u")
os.chmod("unreadable", 0)
os.mkdir("closed")
open("closed/inside", "w").write("i")
os.chmod("closed", 0)
for number in range(1, 3000):
    os.mkdir("down")
    os.chdir("down")
""",
        )
        assert result.exit_code == 0, result.stderr.text
        assert box.changes() == {
            "a.txt": FileChange("deleted"),
            "environment": FileChange("link", b"/proc/self/environ"),
            "unreadable": FileChange("file", b"u"),
            "closed/inside": FileChange("file", b"i"),
        }
        assert len(box.skipped) == 3
        room = Path(box.paths["/work"]).parent
    assert not room.exists(), "removed, however deep it is"


def check_disk_growth_ends_a_command(boxes):
    with boxes(limits=Limits(disk=16 * 2**20)) as box:
        loop = "i=0; while true; do head -c 1000000 /dev/zero > /tmp/$i; i=$((i+1)); sleep 0.01; done"
        assert box.run(["sh", "-c", loop], seconds=20).verdict == "disk"
        one = box.run(["sh", "-c", "rm /tmp/*; head -c 64000000 /dev/zero > /work/big"])
        assert (one.verdict, one.stdout.text) == ("disk", "")
        assert box.run(["sh", "-c", "rm /work/big; echo fine"]).verdict == "ok"


def check_the_death_of_any_of_its_processes_leaves_nothing(boxes):
    for number, choose in enumerate((lambda host, *_: host, lambda _, guardian, __: guardian, lambda *pids: pids[2])):
        marker = f"60{number}.{os.getpid()}"
        command = [sys.executable, "-c", _HOST, str(boxes.lower), marker]
        environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as host:
            guardian, work = host.stdout.readline().decode().split()
            try:
                assert eventually(lambda: len(find(marker)) == 3), "the payload runs"  # noqa: B023
                worker = next(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                              if parent(pid) == int(guardian))  # fmt: skip
                os.kill(choose(host.pid, int(guardian), worker), signal.SIGKILL)
                assert eventually(lambda: not find(marker) and not os.path.exists(work)), number  # noqa: B023
                host.wait(20)
            finally:
                host.kill()


def run_cases() -> None:
    own = {f"landlock-{name.removeprefix('check_')}": case for name, case in globals().items() if name[:6] == "check_"}
    shared = {name: case for name, case in cases("landlock").items() if name not in PRESUPPOSES}
    base = Path(tempfile.mkdtemp())
    try:
        boxes = Boxes(base, "landlock")
        for name, case in {**shared, **own}.items():
            said = {"case": name, "error": None}
            try:
                boxes.check(case)
            except Unclaimed as reason:
                said["skipped"] = str(reason)
            except Exception:
                said["error"] = traceback.format_exc()
            print(json.dumps(said), flush=True)
    finally:
        shutil.rmtree(base)


def run_attacks(machine: dict[str, int]) -> None:
    """The attack table. Its payloads refuse the machine's own namespaces; those of this container will do."""
    from redtogreen.execution.sandboxes.attacks import ATTACKS, attempt
    from redtogreen.execution.sandboxes.attacks.bait import Bait
    from redtogreen.execution.sandboxes.landlock import open_sandbox

    assert all(os.stat(f"/proc/self/ns/{kind}").st_ino != number for kind, number in machine.items())
    facts = Bait.facts
    Bait.facts = lambda bait: {**facts(bait), "namespaces": machine}
    closed = tempfile.mkdtemp()  # what lies below is out of sight for everybody but root, as the probe demands

    def opener(lower, **options):
        tempfile.tempdir = None
        try:
            return open_sandbox(lower, **options)
        finally:
            tempfile.tempdir = closed

    tempfile.tempdir = closed
    for attack_ in ATTACKS:
        try:
            outcome = attempt(attack_, opener)
            said = {"worked": outcome.worked, "seen": outcome.seen}
        except Exception:
            said = {"worked": None, "seen": traceback.format_exc()}
        print(json.dumps({"case": attack_.name, "guarantee": attack_.guarantee, **said}), flush=True)
    shutil.rmtree(closed)


if __name__ == "__main__":
    if sys.argv[1] == "cases":
        run_cases()
    else:
        run_attacks(json.loads(sys.argv[2]))
