"""Warm interpreters: what they hold, what they never see, and what happens when one is lost."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

from conformance import PYTHON, WARM, Boxes, eventually, python_mounts

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes import FileChange, Mount, Preload, open_sandbox
from redtogreen.execution.sandboxes.namespace import connection, warm_servers


def _box(boxes: Boxes, **options):
    mounts = [*python_mounts(), Mount(boxes.programs, "/opt/programs")]
    return open_sandbox(boxes.lower, mounts=mounts, **options)


def _run(box, code: str, preload: Preload = WARM, **options):
    command = [*preload.interpreter, "/opt/programs/code.py", code]
    return box.run(command, warm=preload, **options)


def _warm_run(box, code: str, preload: Preload = WARM):
    """Started when it is wanted for the second time."""
    _run(box, "pass", preload)
    result = _run(box, code, preload)
    assert result.warm, result
    return result


def check_modules_are_loaded_before_and_the_first_run_is_cold(boxes):
    preload = replace(WARM, modules=("wave", "no_such_module", "this"))
    with _box(boxes) as box:
        first = _run(box, "print('wave' in sys.modules)", preload)
        second = _run(box, "print('wave' in sys.modules, __name__, __file__, sys.argv)", preload)
    assert (first.warm, first.stdout.text) == (False, "False\n")
    assert second.warm
    assert second.stdout.text == "True __main__ /opt/programs/code.py ['/opt/programs/code.py']\n", second.stdout.text


def check_a_server_never_sees_a_workspace_and_forks_see_the_present_one(boxes):
    with _box(boxes) as box:
        for text in ("one", "two"):
            box.write({"src/module.py": FileChange("file", f"VALUE = {text!r}".encode())})
            code = "sys.path.insert(0, '/work/src'); import module; print(module.VALUE)"
            assert _warm_run(box, code).stdout.text == f"{text}\n"


def check_what_one_fork_does_no_other_sees(boxes):
    with _box(boxes) as box:
        _warm_run(box, "import json; json.loads = None; sys.modules['wave'] = 1; import os; os.environ['X'] = '1'")
        seen = _warm_run(box, "import json, os; print(json.loads('1'), 'wave' in sys.modules, os.environ.get('X'))")
    assert seen.stdout.text == "1 False None\n"


def check_exit_codes_signals_and_errors_are_those_of_a_cold_start(boxes):
    with _box(boxes) as box:
        for code in ("sys.exit(7)", "1 / 0", "import os; os.kill(os.getpid(), 15)", "import os; os._exit(3)", "pass"):
            cold = box.run([*WARM.interpreter, "/opt/programs/code.py", code])
            warm = _warm_run(box, code)
            assert (warm.exit_code, warm.signal, warm.verdict) == (cold.exit_code, cold.signal, cold.verdict), code
            assert warm.stderr.text.splitlines()[-1:] == cold.stderr.text.splitlines()[-1:], code


def check_the_process_looks_like_a_cold_start(boxes):
    code = (
        "import os, signal\n"
        "handlers = [str(signal.getsignal(n)) for n in range(1, 32)]\n"
        "print(os.getppid(), os.getsid(0) == os.getpid(), sorted(os.listdir('/proc/self/fd')), sys.flags, sys.path,"
        " sorted(os.environ.items()), os.getcwd(), handlers, sys.stdin.read(), sys.stdout.seekable())"
    )
    with _box(boxes) as box:
        cold = box.run([*WARM.interpreter, "/opt/programs/code.py", code], stdin=b"text")
        _run(box, "pass")
        warm = _run(box, code, stdin=b"text")
    assert warm.warm
    assert warm.stdout.text == cold.stdout.text, (warm.stdout.text, cold.stdout.text)


def check_a_killed_server_costs_warmth_only(boxes):
    preload = replace(WARM, modules=("wave",))
    with _box(boxes) as box:
        _warm_run(box, "pass", preload)
        server = next(one.server for key, one in reversed(warm_servers._known.items()) if key[0] == preload)
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: not Path(f"/proc/{server.pid}").exists())
        for _ in range(2):
            after = _run(box, "print(1)", preload)
            assert (after.warm, after.verdict, after.stdout.text) == (False, "ok", "1\n")


def check_a_module_that_cannot_survive_a_fork_is_no_reason_to_fail(boxes):
    """Loading it starts a thread, or opens a file, which a fork would lose."""
    programs = {
        "starts_thread": "import threading, time; threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        "opens_file": "import os; kept = os.open('/usr', os.O_RDONLY)",
    }
    for name, text in programs.items():
        (boxes.programs / f"{name}.py").write_text(text)
        preload = Preload(interpreter=WARM.interpreter, modules=(name,), folder="/opt/programs")
        with _box(boxes) as box:
            for _ in range(3):
                result = _run(box, "print(1)", preload)
                assert (result.warm, result.stdout.text) == (False, "1\n"), name


def check_a_killed_launcher_ends_its_sandboxes_and_is_replaced(boxes):
    with boxes() as box:
        launcher = connection.launcher()
        init = box.init_process
        launcher._process.kill()
        assert eventually(lambda: not Path(f"/proc/{init}").exists())
        try:
            box.run(["true"])
        except SandboxError:
            pass
        else:
            raise AssertionError("a dead sandbox gave a result")
    with boxes() as box:
        assert box.run(["true"]).verdict == "ok"


def check_only_this_interpreter_with_a_script_is_started_warm(boxes):
    with _box(boxes) as box:
        _warm_run(box, "pass")
        for command in ([PYTHON, "-c", "pass"], [*WARM.interpreter, "-c", "pass"], ["/bin/true"], [*WARM.interpreter]):
            result = box.run(command, warm=WARM)
            assert (result.warm, result.verdict) == (False, "ok"), command
