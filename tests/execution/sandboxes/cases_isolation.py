"""What a command can see and reach."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

from conformance import GUARD, PYTHON, SECRET, answer, attack, eventually, find, needs

from redtogreen.execution.sandboxes import BASE_ENVIRONMENT, Mount


@needs("network")
def check_no_network_but_an_own_loopback(boxes):
    with socket.socket() as listener, socket.socket(socket.AF_UNIX) as abstract, boxes() as box:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        name = f"redtogreen-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        facts = answer(
            box,
            f"""
import errno, socket
def connect(family, address):
    with socket.socket(family) as client:
        client.settimeout(2)
        return errno.errorcode.get(client.connect_ex(address), "connected")
own = socket.create_server(("127.0.0.1", 0))
say(names=[name for _, name in socket.if_nameindex()],
    world=connect(socket.AF_INET, ("192.0.2.1", 80)),
    host=connect(socket.AF_INET, ("127.0.0.1", {listener.getsockname()[1]})),
    abstract=connect(socket.AF_UNIX, "\\0{name}"),
    own=connect(socket.AF_INET, own.getsockname()),
    localhost=socket.gethostbyname("localhost"))
""",
        )
    assert facts == {
        "names": ["lo"],
        "world": "ENETUNREACH",
        "host": "ECONNREFUSED",
        "abstract": "ECONNREFUSED",
        "own": "connected",
        "localhost": "127.0.0.1",
    }


@needs("host_files")
def check_host_files_are_hidden(boxes):
    with boxes() as box:
        paths = [str(boxes.base), f"{boxes.base}/secret.txt", "/home", "/sys", "/boot", "/var", "/etc/shadow", "/.old"]
        facts = answer(box, f"say(root=os.listdir('/'), seen=[p for p in {paths!r} if os.path.lexists(p)])")
    system = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}
    if boxes.warm:
        system.add("opt")
    assert set(facts["root"]) - system <= {"etc", "dev", "proc", "tmp", "work", Path(os.path.realpath("/root")).name}
    assert facts["seen"] == []


@needs("host_environment")
def check_host_environment_is_hidden(boxes):
    with boxes(env={"GIVEN": "1"}) as box:
        facts = answer(
            box,
            """
def read(path):
    try:
        return open(path, errors="replace").read()
    except OSError as error:
        return error.strerror
init = {name: read("/proc/1/" + name) for name in ("environ", "cmdline", "maps", "auxv")}
say(env=dict(os.environ), init=init)
""",
            env={"EXTRA": "2"},
        )
    assert facts["env"] == {**BASE_ENVIRONMENT, "GIVEN": "1", "EXTRA": "2"}
    assert SECRET not in str(facts) and str(boxes.base) not in str(facts)
    assert facts["init"]["environ"] in ("Permission denied", "")


@needs("host_environment")
def check_no_descriptor_of_the_host_gets_in(boxes):
    code = "say(fds=sorted(os.listdir('/proc/self/fd')), links=[os.readlink('/proc/self/fd/%d' % n) for n in range(3)])"
    with boxes() as box:
        facts = answer(box, code)
        assert facts["fds"] == ["0", "1", "2", "3"]  # 3 is the listing itself
        assert facts["links"][0] == "/dev/null"
        assert all(link.startswith("pipe:") for link in facts["links"][1:])
        assert answer(box, code, report=True)["fds"] == ["0", "1", "2", "3", "4"]


@needs("system_read_only")
def check_the_system_cannot_be_written(boxes):
    with boxes(mounts=[Mount(boxes.base / "lower", "/opt/tree")]) as box:
        facts = answer(
            box,
            """
import errno
refused = {}
for path in ("/usr/x", "/etc/passwd", "/x", "/dev/x", "/opt/tree/x", "/opt/tree/a.txt", "/etc/x"):
    try:
        open(path, "a")
        refused[path] = None
    except OSError as error:
        refused[path] = errno.errorcode[error.errno]
open("/work/a.txt", "w").write("changed")
say(refused=refused)
""",
        )
    assert set(facts["refused"].values()) == {"EROFS"}, facts
    assert (boxes.lower / "a.txt").read_text() == "alpha\n"


@needs("system_read_only")
def check_all_of_proc_is_read_only(boxes):
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    with boxes() as box:
        facts = answer(
            box,
            f"""
import errno
refused = {{}}
for path in ("/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/comm"):
    try:
        with open(path, "w") as file:
            file.write({pattern!r})
        refused[path] = None
    except OSError as error:
        refused[path] = errno.errorcode[error.errno]
say(refused=refused, score=open("/proc/self/oom_score_adj").read().strip(), keys=open("/proc/keys").read())
""",
        )
    assert set(facts["refused"].values()) == {"EROFS"}, facts
    assert facts["score"] == "1000"
    assert facts["keys"] == ""


@needs("process_isolation")
def check_host_processes_cannot_be_seen_or_signalled(boxes):
    with subprocess.Popen(["sleep", "60"]) as victim, boxes() as box:
        try:
            facts = answer(
                box,
                f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
try:
    os.kill({victim.pid}, 9)
    signalled = "yes"
except OSError as error:
    signalled = errno.errorcode[error.errno]
traced = libc.ptrace(16, {victim.pid}, None, None)
say(signalled=signalled, traced=traced, why=errno.errorcode[ctypes.get_errno()],
    seen=sorted(int(name) for name in os.listdir("/proc") if name.isdigit()), own=os.getpid(), parent=os.getppid())
""",
            )
            assert victim.poll() is None
        finally:
            victim.kill()
    assert facts["signalled"] == "ESRCH"
    assert facts["traced"] == -1 and facts["why"] in ("EPERM", "ESRCH")
    assert facts["seen"] == [1, facts["own"]]
    assert facts["parent"] in (0, 1)


def check_killing_everything_harms_nobody_else(boxes):
    with subprocess.Popen(["sleep", "60"]) as victim, boxes() as box:
        try:
            result = attack(
                box,
                """
import signal
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
for _ in range(3):
    if os.fork() == 0:
        signal.pause()
os.kill(-1, 9)
say(alive=True)
""",
            )
            assert result.exit_code == 0 and "alive" in result.stdout.text, result
            assert victim.poll() is None
            assert box.run(["sh", "-c", "exit 5"]).exit_code == 5
        finally:
            victim.kill()


@needs("exit_status")
def check_the_status_cannot_be_forged(boxes):
    with boxes() as box:
        result = attack(
            box,
            """
forged = b'{ "exit-code": 0 }\\n' + bytes(8)
paths = [f"/proc/{pid}/{name}" for pid in (1, os.getppid()) for name in ["mem", *(f"fd/{n}" for n in range(64))]]
own = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
for path in paths:
    try:
        if os.readlink(path) in own:  # its own output, which it may write
            continue
    except OSError:
        pass
    try:
        with open(path, "wb", buffering=0) as file:
            file.write(forged)
        print("wrote", path)
    except OSError:
        pass
sys.stdout.flush()
os._exit(7)
""",
        )
        assert (result.exit_code, result.verdict) == (7, "failure")
        assert result.stdout.text == "", result.stdout.text


@needs("privileges")
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
say(status={key: status[key].strip() for key in status}, became=became, uid=os.getuid(), groups=os.getgroups(),
    host=os.uname().nodename, session=os.getsid(0) != 0)
""",
        )
    status = facts["status"]
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert facts["became"] is False and facts["uid"] != 0 and facts["host"] == "sandbox" and facts["session"]
    if os.geteuid() == 0:
        assert facts["groups"] == []  # an ordinary user's own groups cannot be dropped; they own nothing visible


@needs("privileges")
def check_root_is_left_before_anything_runs(boxes):
    """In the eyes of the host the command is an unprivileged user, even when root started it."""
    marker = f"4.{os.getpid()}"
    with boxes() as box:
        thread = threading.Thread(target=lambda: box.run(["sleep", marker]))
        thread.start()
        assert eventually(lambda: bool(find(marker)))
        owner = [line for line in Path(f"/proc/{find(marker)[0]}/status").read_text().splitlines() if "Uid" in line]
        thread.join()
    assert "0" not in owner[0].split()[1:], owner


@needs("host_files")
def check_covered_directories_are_empty(boxes):
    shown = Mount(boxes.base / "lower", "/env/tree")
    with boxes(mounts=[shown], covered=["/env/tree/d", "/env/absent", "/usr/share"]) as box:
        facts = answer(
            box,
            """
try:
    os.mkdir("/env/tree/d/new")
    made = True
except OSError:
    made = False
say(d=os.listdir("/env/tree/d"), share=os.listdir("/usr/share"), a=os.path.exists("/env/tree/a.txt"), made=made)
""",
        )
    assert facts == {"d": [], "share": [], "a": True, "made": False}


def check_real_programs_find_what_they_need(boxes):
    """Shared memory, semaphores, a terminal of its own, devices, a home: real test suites use them."""
    with boxes() as box:
        facts = answer(
            box,
            """
import multiprocessing, pty, tempfile
with multiprocessing.get_context("fork").Pool(2) as pool:
    squares = pool.map(abs, [-1, -2])
leader, follower = pty.openpty()
os.write(follower, b"hello")
with tempfile.NamedTemporaryFile() as file:
    folder = os.path.dirname(file.name)
say(squares=squares, terminal=os.read(leader, 5).decode(), folder=folder, null=open("/dev/null").read(),
    random=len(open("/dev/urandom", "rb").read(4)), home=os.path.expanduser("~"))
""",
        )
    assert facts == {
        "squares": [1, 2],
        "terminal": "hello",
        "folder": "/tmp",
        "null": "",
        "random": 4,
        "home": "/tmp",
    }


@needs("system_calls")
def check_addresses_and_hashes_repeat(boxes):
    code = "say(ids=[id(object()), id(sys)], order=list({'a', 'b', 'c', 'd', 'e'}))"
    seen = set()
    for _ in range(2):
        with boxes() as box:
            seen.add(box.run([PYTHON, "-c", GUARD + code]).stdout.text)
    assert len(seen) == 1, seen
