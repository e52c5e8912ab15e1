"""Attacks that reach for the host: its files, its environment, its processes, its sockets."""

from __future__ import annotations

from .attack import BAIT, HOST_FOLDER, Attack, Control, Setting

_FILES = f"""
os.symlink(given["target"], "/work/link")
places = [given["target"], "/work/link", "/proc/1/root" + given["target"], "/etc/shadow", "{HOST_FOLDER}/secret.txt"]
read = []
for place in places:
    try:
        if open(place, errors="replace").read():
            read.append(place)
    except OSError:
        pass
tell(bool(read), "read " + ", ".join(read) if read else f"none of {{len(places)}} places can be read")
"""

_ENVIRONMENT = f"""
found = [f"the variable {{name}}" for name, value in os.environ.items() if {BAIT!r} in value]
for process in filter(str.isdigit, os.listdir("/proc")):
    try:
        if {BAIT!r} in open(f"/proc/{{process}}/environ", errors="replace").read() and int(process) != os.getpid():
            found.append(f"/proc/{{process}}/environ")
    except OSError:
        pass
for number in range(3, 256):
    try:
        if {BAIT!r}.encode() in os.pread(number, 1000, 0):
            found.append(f"descriptor {{number}}")
    except OSError:
        pass
tell(bool(found), "found in " + ", ".join(found) if found else "no variable, no environ of a process, no descriptor")
"""

_WRITE = """
answers = {}
for path in given["paths"]:
    try:
        with open(path, "r+" if os.path.exists(path) else "w") as file:
            file.write("")
        answers[path] = "allowed"
    except OSError as error:
        answers[path] = errno.errorcode[error.errno]
tell("allowed" in answers.values(), ", ".join(f"{path} {answer}" for path, answer in answers.items()))
"""

_PROC = """
answers = {}
for path in given["paths"]:
    try:
        with open(path) as file:
            same = file.read()
        with open(path, "r+") as file:
            file.write(same)
        answers[path] = "allowed"
    except OSError as error:
        answers[path] = errno.errorcode[error.errno]
try:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))  # only opened, never written
    answers["/proc/sysrq-trigger"] = "/dev/null" if os.path.samefile("/proc/sysrq-trigger", "/dev/null") else "allowed"
except OSError as error:
    answers["/proc/sysrq-trigger"] = errno.errorcode[error.errno]
tell("allowed" in answers.values(), ", ".join(f"{path} {answer}" for path, answer in answers.items()))
"""

_SIGNAL = """
target = victim()
answer = tried(os.kill, target, 9)
if given["inside"] and answer == "allowed":
    answer = "killed" if os.waitpid(target, 0)[1] == 9 else answer
tell(answer in ("allowed", "killed"), f"kill: {answer}")
"""

_SEE = """
mark = "victim-of-" + given["mark"]  # joined only here: a supervisor's command line may hold this very text
if given["inside"] and os.fork() == 0:
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(10)", mark])
time.sleep(0.3 if given["inside"] else 0)
seen = 0
for process in filter(str.isdigit, os.listdir("/proc")):
    try:
        seen += mark in open(f"/proc/{process}/cmdline", errors="replace").read()
    except OSError:
        pass
tell(bool(seen), f"{seen} processes of the host seen" if not given["inside"] else f"{seen} processes seen")
"""

_TRACE = """
target = victim()
libc = ctypes.CDLL(None, use_errno=True)
answer = call((101, 117), 16, target, 0, 0)
if answer == "allowed":
    os.waitpid(target, 0x40000000)
    call((101, 117), 17, target, 0, 0)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
memory = call((310, 270), target, vector, 1, vector, 1, 0)
tell("allowed" in (answer, memory), f"ptrace {answer}, process_vm_readv {memory}")
"""

_CONNECT = """
import socket
port, name = given["port"], given["abstract"]
if given["inside"]:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    local = socket.socket(socket.AF_UNIX)
    local.bind("\\0" + name)
    local.listen()
places = {"tcp": (socket.AF_INET, ("127.0.0.1", port)), "abstract": (socket.AF_UNIX, "\\0" + name)}
family, address = places[given["family"]]
with socket.socket(family) as client:
    client.settimeout(2)
    answer = errno.errorcode.get(client.connect_ex(address), "connected")
tell(answer == "connected", answer)
"""

ATTACKS = (
    Attack(
        "host files",
        "host_files",
        "reads a file of the host by its path, through a link, through /proc/1/root; /etc/shadow",
        "none can be read",
        _FILES,
        Control("the folder is mounted", Setting(shows_host=True)),
    ),
    Attack(
        "host environment",
        "host_environment",
        "looks for a secret of the host in variables, in every /proc/PID/environ, in open descriptors",
        "not found",
        _ENVIRONMENT,
        Control("the variable is handed in", Setting(env={"HANDED_IN": BAIT})),
    ),
    Attack(
        "system files",
        "system_read_only",
        "opens files of the system, the root and a mount for writing",
        "EROFS, EACCES or ENOENT",
        'given["paths"] = ["/usr/x", "/etc/passwd", "/etc/x", "/x", "/dev/x", "/opt/host/secret.txt", "/opt/host/x"]'
        + _WRITE,
        Control("files of the workspace", payload='given["paths"] = ["/work/x"]' + _WRITE),
        Setting(shows_host=True),
    ),
    Attack(
        "/proc writes",
        "system_read_only",
        "writes to core_pattern, oom_score_adj and uid_map what stands there; opens sysrq-trigger",
        "EROFS or EACCES",
        'given["paths"] = ["/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj", "/proc/self/uid_map"]' + _PROC,
        Control(
            "a copy of core_pattern in the workspace",
            payload="import shutil\nshutil.copyfile('/proc/sys/kernel/core_pattern', '/work/core_pattern')\n"
            + 'given["paths"] = ["/work/core_pattern"]'
            + _PROC,
        ),
    ),
    Attack(
        "signals",
        "process_isolation",
        "SIGKILL to a process of the host",
        "ESRCH or EPERM, it lives",
        _SIGNAL,
        Control("a process inside", Setting(inside=True)),
    ),
    Attack(
        "seeing processes",
        "process_isolation",
        "reads the command line of every process",
        "none of the host's",
        _SEE,
        Control("a process inside", Setting(inside=True)),
    ),
    Attack(
        "ptrace",
        "process_isolation",
        "ptrace and process_vm_readv on a process of the host",
        "EPERM or ESRCH",
        _TRACE,
        Control("a process inside, without the filter", Setting(inside=True, without=("system_calls",))),
    ),
    Attack(
        "loopback of the host",
        "network",
        "connects to a port of the host on 127.0.0.1",
        "ECONNREFUSED",
        'given["family"] = "tcp"' + _CONNECT,
        Control("the server listens inside", Setting(inside=True)),
    ),
    Attack(
        "abstract socket",
        "network",
        "connects to an abstract Unix socket of the host",
        "ECONNREFUSED",
        'given["family"] = "abstract"' + _CONNECT,
        Control("the server listens inside", Setting(inside=True)),
    ),
)
