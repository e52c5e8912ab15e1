"""Attacks by what is left behind: processes that live on, a status that lies, files that trap who reads them."""

from __future__ import annotations

from .attack import BAIT, HOST_FOLDER, Attack, Control, Setting, in_one_command

_DAEMONS = """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for _ in range(250):
                with open("/work/heartbeat", "a") as file:
                    file.write(".")
                time.sleep(0.02)
        os._exit(0)
    os.wait()
time.sleep(0.1)
"""

_RESPAWNER = """
if os.fork() == 0:
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        os.setsid()
        with open("/work/heartbeat", "a") as file:
            file.write(".")
        time.sleep(0.005)
        if os.fork() != 0:
            os._exit(0)
    os._exit(0)
os.wait()
time.sleep(0.1)
"""

_HEARTBEAT = """
def beats():
    return os.path.getsize("/work/heartbeat") if os.path.exists("/work/heartbeat") else 0
first = beats()
time.sleep(0.3)
tell(beats() > first, "alive in the next command" if beats() > first else f"silent after {first} beats")
"""

_KILL_ALL = """
children = []
for _ in range(3):
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(10)
        signal.pause()
for number in range(1, 65):
    tried(os.kill, 1, number)
tried(os.kill, -1, 9)
died = sum(os.waitpid(child, 0)[1] == 9 for child in children)
tell(given["inside"] and died == 3, f"{died} processes of its own killed, nothing else")
"""

_FORGED = """
opened, answers = 0, set()
for process in (1, os.getppid()):
    for number in range(64):
        try:
            with open(f"/proc/{process}/fd/{number}", "wb", buffering=0) as file:
                file.write(b"0")
            opened += 1
        except OSError as error:
            answers.add(errno.errorcode[error.errno])
tell(False, f"{opened} descriptors of its parents opened, then " + ", ".join(sorted(answers)))
sys.stdout.flush()
os._exit(7)
"""

_TRUSTING = (
    """
reader, writer = os.pipe()
os.set_blocking(reader, False)
"""
    + in_one_command(_FORGED, "").replace("start_new_session=True", "stdout=subprocess.DEVNULL")
    + """
os.write(writer, str(first.returncode).encode())
said = os.read(reader, 1).decode()
tell(said == "0", f"it exited with {first.returncode}, its shell read {said}")
"""
)

_REPORTS = """
import socket
os.chdir("/work")
os.symlink(given["target"], "report.xml")
os.symlink("/proc/self/environ", "environment.xml")
os.symlink(os.path.dirname(given["target"]), "reports")
os.mkfifo("junit.xml")
socket.socket(socket.AF_UNIX).bind("results.xml")
with open("coverage.xml", "wb") as file:
    file.truncate(1 << 40)
"""

_NAIVE = f"""
signal.setitimer(signal.ITIMER_REAL, 0.5)
def late(*_):
    raise TimeoutError("blocked")
signal.signal(signal.SIGALRM, late)
read = open("report.xml").read()
try:
    open("junit.xml").read()
    waited = False
except TimeoutError:
    waited = True
tell({BAIT!r} in read and waited, "a plain open followed the link and waited for the pipe")
"""

_GIT = """
os.chdir("/work")
for folder in (".git/objects", ".git/refs/heads"):
    os.makedirs(folder)
trap = "touch " + given["marker"]
files = {
    ".git/HEAD": "ref: refs/heads/main\\n",
    ".git/config": (
        '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = "' + trap + '"\\n'
        '[diff]\\n\\texternal = "' + trap + '"\\n'
        '[filter "trap"]\\n\\tclean = "' + trap + '; cat"\\n'
    ),
    ".gitattributes": "* filter=trap\\n",
    "new.txt": "new\\n",
}
for name, text in files.items():
    with open(name, "w") as file:
        file.write(text)
"""

_GIT_RUN = """
import shutil, subprocess
if not shutil.which("git"):
    tell(None, "there is no git here")
    sys.exit(0)
for words in (["status"], ["add", "new.txt"], ["diff"]):
    subprocess.run(["git", "-c", "safe.directory=*", *words], capture_output=True)
tell(os.path.exists(given["marker"]), "git itself ran a program named in the repository")
"""

ATTACKS = (
    Attack(
        "setsid daemons",
        "tree_kill",
        "3 daemons, forked twice, each in a session of its own, holding stdout",
        "killed when the command ends",
        _DAEMONS + 'tell(False, "3 daemons left")',
        Control("only their process group is killed", payload=in_one_command(_DAEMONS, _HEARTBEAT)),
        after=_HEARTBEAT,
    ),
    Attack(
        "respawner",
        "tree_kill",
        "a daemon that forks, changes its session and exits every 5 ms",
        "killed when the command ends",
        _RESPAWNER + 'tell(False, "a respawner left")',
        Control("only its process group is killed", payload=in_one_command(_RESPAWNER, _HEARTBEAT)),
        after=_HEARTBEAT,
    ),
    Attack(
        "kill everything",
        "tree_kill",
        "every signal to process 1, then kill(-1, SIGKILL)",
        "process 1 and the host unharmed, the sandbox usable",
        _KILL_ALL,
        Control("what is in reach: three processes of its own", Setting(inside=True)),
        after='tell(False, "the sandbox is usable")',
    ),
    Attack(
        "forged status",
        "exit_status",
        "writes 0 to every descriptor of its parents, then exits with 7",
        "EACCES; status 7",
        _FORGED,
        Control("a shell keeps the status in a pipe of its own", payload=_TRUSTING),
        exit_code=7,
    ),
    Attack(
        "hostile reports",
        "collection",
        "report.xml links to a file of the host, junit.xml is a FIFO, coverage.xml has 1 TiB",
        "links stay links; what is no file is left out and named",
        _REPORTS + 'tell(False, "traps laid")',
        Control(
            "read with a plain open, in a sandbox that sees that file",
            Setting(shows_host=True),
            f'given["target"] = "{HOST_FOLDER}/secret.txt"' + _REPORTS + _NAIVE,
        ),
        collects=True,
    ),
    Attack(
        "hostile git config",
        "collection",
        "a repository whose fsmonitor, diff.external and filter run a program",
        "collected as files, nothing runs",
        _GIT + 'tell(False, "a repository laid")',
        Control("git is run in it, inside", payload='given["marker"] = "/work/ran"' + _GIT + _GIT_RUN),
        collects=True,
    ),
)
