"""What a command may use up, and the verdict that says so."""

from __future__ import annotations

import hashlib
import os
import time

from conformance import answer, attack, needs

from redtogreen.execution.sandboxes import Limits

_MB = 2**20


@needs("process_count")
def check_fork_bomb_is_bounded_and_reaped(boxes):
    with boxes(limits=Limits(processes=40, seconds=20)) as box:
        result = attack(
            box,
            """
import signal
count = 0
try:
    for _ in range(400):
        if os.fork() == 0:
            signal.pause()
        count += 1
except BlockingIOError:
    pass
say(count=count)
""",
        )
        assert result.verdict == "processes", result
        count = int(result.stdout.text.split(":")[1].strip(" }\n"))
        assert 30 <= count <= 40, result
        assert result.strays == count
        assert box.run(["true"]).verdict == "ok"


@needs("process_count")
def check_threads_count_as_processes(boxes):
    with boxes(limits=Limits(processes=20)) as box:
        facts = attack(
            box,
            """
import threading, time
started = 0
try:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
time.sleep(0.2)
say(started=started)
sys.stdout.flush()
os._exit(0)
""",
        )
        assert int(facts.stdout.text.split(":")[1].strip(" }\n")) <= 20
        assert facts.verdict == "processes"


@needs("memory")
def check_memory_of_one_process_is_bounded(boxes):
    with boxes(limits=Limits(memory=128 * _MB, seconds=20)) as box:
        result = attack(
            box,
            """
import time
blocks = []
for _ in range(100):
    blocks.append(bytearray(b"x") * (10 << 20))
    time.sleep(0.01)
say(survived=True)
""",
        )
        assert (result.verdict, result.exit_code, result.signal) == ("memory", None, 9), result
        assert box.run(["true"]).verdict == "ok"


@needs("memory")
def check_memory_of_a_tree_is_bounded(boxes):
    with boxes(limits=Limits(memory=128 * _MB, seconds=20)) as box:
        result = attack(
            box,
            """
import time
for _ in range(5):
    if os.fork() == 0:
        block = bytearray(b"x") * (40 << 20)
        time.sleep(2)
        os._exit(0)
killed = sum(os.WIFSIGNALED(os.wait()[1]) for _ in range(5))
say(killed=killed)
""",
        )
        assert result.verdict == "memory", result
        if box.guarantees["memory"] == "enforced":
            assert '"killed": 0' not in result.stdout.text and result.exit_code == 0
        else:
            assert result.signal == 9


def check_modest_memory_is_left_alone(boxes):
    with boxes(limits=Limits(memory=128 * _MB)) as box:
        result = attack(box, "import time\nblock = bytearray(b'x') * (60 << 20)\ntime.sleep(0.3)\nsay(size=len(block))")
        assert result.verdict == "ok", result


@needs("disk")
def check_disk_is_bounded_wherever_files_may_lie(boxes):
    for folder in ("/work", "/tmp", "/dev/shm"):
        with boxes(limits=Limits(disk=16 * _MB, memory=256 * _MB)) as box:
            result = attack(
                box,
                f"""
import errno
written, code = 0, None
try:
    with open("{folder}/big", "wb", buffering=0) as file:
        while written < 64 << 20:
            written += file.write(bytes(1 << 16))
except OSError as error:
    code = errno.errorcode[error.errno]
say(written=written, code=code)
""",
            )
            assert result.verdict == "disk", (folder, result)
            facts = result.stdout.text
            assert '"code": "ENOSPC"' in facts and int(facts.split(":")[1].split(",")[0]) <= 16 * _MB
            assert box.run(["sh", "-c", f"rm {folder}/big; echo fine > {folder}/small"]).verdict == "ok"


@needs("disk")
def check_the_quota_is_shared_by_all_places(boxes):
    with boxes(limits=Limits(disk=16 * _MB)) as box:
        sizes = ["head -c 10000000 /dev/zero > /tmp/a", "head -c 10000000 /dev/zero > /work/b"]
        result = box.run(["sh", "-c", " && ".join(sizes)])
        assert result.verdict == "disk" and "No space left" in result.stderr.text, result


@needs("disk")
def check_inodes_are_bounded(boxes):
    with boxes(limits=Limits(inodes=500)) as box:
        result = attack(
            box,
            """
made = 0
try:
    for number in range(5000):
        open(f"/work/file{number}", "w").close()
        made += 1
except OSError:
    pass
say(made=made)
""",
        )
        assert result.verdict == "disk", result
        assert 400 <= int(result.stdout.text.split(":")[1].strip(" }\n")) <= 520


@needs("tree_kill")
def check_time_out_ends_the_whole_tree(boxes):
    with boxes() as box:
        start = time.monotonic()
        result = attack(
            box,
            """
import signal, time
for number in range(1, 32):
    if number not in (9, 17, 19):
        signal.signal(number, signal.SIG_IGN)
print("before", flush=True)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
        os._exit(0)
time.sleep(60)
""",
            seconds=1.0,
        )
        took = time.monotonic() - start
        assert (result.verdict, result.exit_code, result.signal) == ("timeout", None, 9), result
        assert 0.9 < result.seconds < 3 and took < 6
        assert result.stdout.text == "before\n", "output is kept when time is up"
        assert result.strays == 3
        assert answer(box, "say(alive=[n for n in os.listdir('/proc') if n.isdigit()], own=os.getpid())")["alive"][1:]


@needs("tree_kill")
def check_strays_are_counted_and_hold_nothing_up(boxes):
    with boxes() as box:
        start = time.monotonic()
        result = box.run(["sh", "-c", "setsid sleep 50 & setsid sleep 50 & echo done"])
        assert time.monotonic() - start < 5, "strays hold stdout, and must not delay the answer"
        assert (result.verdict, result.exit_code, result.strays) == ("ok", 0, 2), result
        assert result.stdout.text == "done\n"
        assert box.run(["sh", "-c", "sleep 0.01 & wait"]).strays == 0
        assert box.run(["sh", "-c", "true & exit 0"]).strays <= 1


def check_output_is_counted_whole_and_kept_at_both_ends(boxes):
    with boxes(limits=Limits(output=1000)) as box:
        script = "print('first'); sys.stdout.write('x' * 20_000_000); print(); print('last')"
        result = attack(box, script + "; sys.stderr.write('e' * 1001)")
        assert result.verdict == "ok"
        assert result.stdout.size == len("first\n") + 20_000_000 + len("\nlast\n")
        assert len(result.stdout.head) == len(result.stdout.tail) == 500
        assert result.stdout.cut and result.stdout.text.startswith("first\n") and result.stdout.text.endswith("last\n")
        assert f"[... {result.stdout.size - 1000} bytes cut ...]" in result.stdout.text
        assert result.stderr.cut and result.stderr.size == 1001
        exact = attack(box, "sys.stdout.write('ab' * 500)")
        assert not exact.stdout.cut and exact.stdout.text == "ab" * 500


@needs("output")
def check_a_flood_is_stopped(boxes):
    with boxes() as box:
        for stream in (1, 2):
            result = box.run(["sh", "-c", f"echo first >&{stream}; yes >&{stream}"], seconds=30)
            kept = result.stdout if stream == 1 else result.stderr
            assert (result.verdict, result.signal) == ("output", 9), result.verdict
            assert kept.size > 64 * _MB and len(kept.head) + len(kept.tail) <= 64 * 2**10
            assert kept.text.startswith("first\n")
        assert box.run(["true"]).verdict == "ok"


@needs("output")
def check_the_report_is_delivered_and_bounded(boxes):
    with boxes(limits=Limits(report=_MB)) as box:
        result = attack(box, "os.write(3, b'report ' * 1000); say(ok=True)", report=True)
        assert result.report == b"report " * 1000 and result.verdict == "ok"
        exact = attack(box, f"os.write(3, bytes({_MB}))", report=True)
        assert len(exact.report) == _MB and exact.verdict == "ok"
        flood = attack(box, "while True: os.write(3, bytes(65536))", report=True, seconds=20)
        assert flood.verdict == "output" and len(flood.report) == _MB
        assert box.run(["true"]).report == b""


@needs("exit_status")
def check_ways_to_end(boxes):
    with boxes() as box:
        for argv, code, signal, verdict in (
            (["true"], 0, None, "ok"),
            (["sh", "-c", "exit 3"], 3, None, "failure"),
            (["sh", "-c", "kill -SEGV $$"], None, 11, "failure"),
            (["no-such-program"], 127, None, "failure"),
            (["/work/absent"], 127, None, "failure"),
            (["/work/a.txt"], 126, None, "failure"),
            (["/work/run.sh"], 0, None, "ok"),
        ):
            result = box.run(argv)
            assert (result.exit_code, result.signal, result.verdict) == (code, signal, verdict), (argv, result)
        assert "no-such-program" in box.run(["no-such-program"]).stderr.text
        assert box.run(["true"], cwd="/absent").exit_code == 127


def check_input_arguments_and_folder_arrive(boxes):
    with boxes() as box:
        content = os.urandom(300_000)
        assert box.run(["sha256sum"], stdin=content).stdout.text.split()[0] == hashlib.sha256(content).hexdigest()
        assert box.run(["wc", "-c"], stdin=content).stdout.text.strip() == "300000"
        assert box.run(["cat"]).stdout.size == 0
        assert box.run(["pwd"], cwd="/work/d").stdout.text == "/work/d\n"
        assert box.run(["printf", "%s|", "a b", "", "é\n"]).stdout.text == "a b||é\n|"


def check_processor_time_is_measured(boxes):
    with boxes() as box:
        code = "import time\nif os.fork() == 0:\n    while time.process_time() < 0.3: pass\n    os._exit(0)\nos.wait()"
        assert 0.25 < attack(box, code).cpu_seconds < 1.0
        assert box.run(["sleep", "0.3"]).cpu_seconds < 0.2


def check_one_command_leaves_no_trace_in_the_next(boxes):
    """Flags set on shared file descriptions, limits and signal masks stay with the command that set them."""
    with boxes() as box:
        attack(
            box,
            "import fcntl, resource\nfor fd in range(3):\n"
            "    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))",
        )
        facts = answer(
            box,
            "import resource\nsay(blocking=[os.get_blocking(fd) for fd in range(3)],"
            " files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],"
            " masks=[l.split()[1] for l in open('/proc/self/status') if l.startswith(('SigBlk', 'SigIgn'))])",
        )
        assert facts["blocking"] == [True, True, True] and facts["files"] >= 1024
        # bits that the inner Python itself ignores: SIGPIPE and SIGXFSZ
        assert facts["masks"] == ["0" * 16, "0000000001001000"], facts
