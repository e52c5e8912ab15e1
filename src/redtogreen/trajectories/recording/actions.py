"""The canonical actions, carried out in a sandbox: what an agent may ask for, and the answer it gets.

Everything that reads or writes the agent's files happens inside: file actions through execution/inside/actions.py,
tests through run_tests, the rest as commands. Answers hold no durations and no paths of the host, so that the same
action in the same state is recorded the same way.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from redtogreen.errors import SandboxError
from redtogreen.execution.programs import ACT, ISOLATED
from redtogreen.execution.sandboxes.contract import ProcessResult, Sandbox
from redtogreen.execution.testruns import TestRun, run_tests
from redtogreen.records import Feedback, TaskView
from redtogreen.trajectories.recording.parameters import PARAMETERS, problem_with

LINT = ["/env/bin/ruff", "check", "--isolated", "--no-cache", "--quiet", "--exit-zero", "--output-format=json", "--"]
FILE_SECONDS, COMMAND_SECONDS, TEST_SECONDS = 20.0, 60.0, 120.0
TAIL = 4_000
"""Characters of a command's output that an observation shows; the whole is handed on beside it."""
MAX_FAILURES, MAX_TRACEBACK, MAX_FINDINGS, MAX_RANGES = 20, 3_000, 200, 4_000
_SUMMARY = re.compile(r"\b(\d+) (passed|failed|errors?)\b")
_TEST_COMMAND = re.compile(r"\b(pytest|py\.test)\b")


@dataclass(frozen=True)
class ActionResult:
    """What one action came to."""

    observation: dict[str, Any]
    """What the agent sees."""
    feedback: Feedback
    full_texts: dict[str, bytes] = field(default_factory=dict)
    """Field of the observation -> the whole text, where the observation shows only a part."""


class Actions:
    """Carries out actions in one sandbox (opened by open_workspace: it needs /env and /opt/redtogreen)."""

    def __init__(self, sandbox: Sandbox, task: TaskView):
        self._sandbox, self._task = sandbox, task
        self.seconds_left = task.limits.seconds
        """Wall clock the attempt still has; no action gets more."""

    def perform(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        """Carry out one canonical action. What is wrong with the request is answered with status `error`.

        Raises SandboxError when the machine failed.
        """
        problem = problem_with(action, params)
        if problem is not None:
            return _error(problem)
        return _PERFORM.get(action, Actions._file_action)(self, action, params)

    def _file_action(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        request = json.dumps({"action": action, "params": dict(params)}).encode()
        process = self._run(ACT, FILE_SECONDS, stdin=request, report=True, warm=ISOLATED)
        if process.verdict == "timeout":
            return _timeout(action, FILE_SECONDS)
        try:
            answer = json.loads(process.report)
        except ValueError:
            if process.exit_code in (126, 127) and self._starts():
                return _error(f"{action} cannot be carried out: {_clean(process.stderr.text).strip()[-500:]}")
            if process.exit_code in (126, 127):
                raise SandboxError(
                    f"the program for file actions does not start in the sandbox: {process.stderr.text[-500:]}",
                    "open the sandbox with open_workspace, which brings the environment along",
                ) from None
            return _error(f"{action} was ended by the limits of the sandbox ({process.verdict})")
        if "error" in answer:
            changes = PARAMETERS[action].changes
            return ActionResult(answer, Feedback(status="error", applied=False if changes else None))
        feedback = Feedback(status="ok", applied=answer.get("applied"))
        if answer.get("parse_errors"):
            feedback.compile_error = True
        return ActionResult(answer, feedback)

    def _run_command(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        seconds = self._within(params.get("seconds") or COMMAND_SECONDS)
        process = self._run(["/bin/sh", "-c", params["cmd"]], seconds)
        texts = {"stdout_tail": _clean(process.stdout.text), "stderr_tail": _clean(process.stderr.text)}
        observation: dict[str, Any] = {"exit_code": process.exit_code}
        observation |= {name: text[-TAIL:] for name, text in texts.items()}
        if process.signal is not None:
            observation["signal"] = process.signal
        if process.strays:
            observation["strays"] = process.strays
        feedback = Feedback(status="ok")
        if process.verdict == "timeout":
            feedback.status = "timeout"
            observation["error"] = f"ended after {seconds:g} seconds"
        elif process.verdict not in ("ok", "failure"):
            feedback.status = "error"
            observation["error"] = f"ended by the sandbox: limit of {process.verdict}"
        if _TEST_COMMAND.search(params["cmd"]):
            counts = _counts(texts["stdout_tail"])
            if counts is not None:
                feedback.passed, feedback.failed = counts
        return ActionResult(observation, feedback, _whole(texts))

    def _run_test(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        tests, seconds = params.get("tests"), self._within(params.get("seconds") or TEST_SECONDS)
        run = run_tests(self._sandbox, tests, seconds=seconds, coverage=bool(params.get("coverage")))
        if run.process.verdict == "sandbox":
            raise SandboxError(f"a test run failed in the sandbox: {run.process.stderr.text[-500:]}")
        observation, feedback = _judged(run, tests)
        if run.process.verdict == "timeout":
            feedback.status = "timeout"
            observation["error"] = f"ended after {seconds:g} seconds"
        elif run.process.verdict not in ("ok", "failure"):
            feedback.status = "error"
            observation["error"] = f"ended by the sandbox: limit of {run.process.verdict}"
        return ActionResult(observation, feedback)

    def _run_lint(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        process = self._run([*LINT, *(params.get("paths") or ["."])], COMMAND_SECONDS)
        if process.verdict == "timeout":
            return _timeout(action, COMMAND_SECONDS)
        try:
            found = json.loads(process.stdout.text)
        except ValueError:
            return _error(f"ruff did not finish: {_clean(process.stderr.text)[-500:]}")
        findings = [
            {
                "path": str(each["filename"]).removeprefix("/work/"),
                "line": (each.get("location") or {}).get("row"),
                "code": each.get("code"),
                "message": each.get("message"),
            }
            for each in found[:MAX_FINDINGS]
        ]
        return ActionResult({"count": len(found), "findings": findings}, Feedback(status="ok"))

    def _write_plan(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        return ActionResult({"noted": True}, Feedback(status="ok"))

    def _submit(self, action: str, params: Mapping[str, Any]) -> ActionResult:
        return ActionResult({"submitted": True}, Feedback(status="ok"))

    def _starts(self) -> bool:
        """Whether the environment's interpreter starts away from the workspace, which a command may have spoilt."""
        return self._sandbox.run([*ISOLATED.interpreter, "-c", "pass"], seconds=FILE_SECONDS, cwd="/").exit_code == 0

    def _within(self, seconds: float) -> float:
        return max(0.1, min(float(seconds), self.seconds_left))

    def _run(self, argv: list[str], seconds: float, **options: Any) -> ProcessResult:
        process = self._sandbox.run(argv, seconds=self._within(seconds), **options)
        if process.verdict == "sandbox":
            raise SandboxError(f"a command could not be carried out: {process.stderr.text.strip()[-500:]}")
        return process


_PERFORM: dict[str, Callable[[Actions, str, Mapping[str, Any]], ActionResult]] = {
    "run_command": Actions._run_command,
    "run_test": Actions._run_test,
    "run_lint": Actions._run_lint,
    "write_plan": Actions._write_plan,
    "submit": Actions._submit,
}


def _error(message: str) -> ActionResult:
    return ActionResult({"error": message}, Feedback(status="error"))


def _timeout(action: str, seconds: float) -> ActionResult:
    return ActionResult({"error": f"{action} was ended after {seconds:g} seconds"}, Feedback(status="timeout"))


def _clean(text: str) -> str:
    """Without the place of the interpreter on this machine."""
    return text if sys.base_prefix in ("/usr", "/usr/local") else text.replace(sys.base_prefix, "/usr")


def _whole(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode("utf-8", "replace") for name, text in texts.items() if len(text) > TAIL}


def _counts(text: str) -> tuple[int, int] | None:
    """(passed, failed) as the last summary line of pytest says."""
    for line in reversed(text.splitlines()):
        found = _SUMMARY.findall(line)
        if found:
            counts = {word.rstrip("s") if word.startswith("error") else word: int(number) for number, word in found}
            return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)
    return None


def _judged(run: TestRun, asked: list[str] | None) -> tuple[dict[str, Any], Feedback]:
    """Observation and feedback of a test run. An asked-for test that never reported counts as failed."""
    statuses = {test: result.status for test, result in run.tests.items()}
    absent = [test for test in dict.fromkeys(asked or ()) if test not in statuses]
    bad = sorted(test for test, status in statuses.items() if status in ("failed", "error"))
    passed = sum(status in ("passed", "xpassed") for status in statuses.values())
    failed = len(bad) + (len(absent) if asked is not None else len(run.collection_errors))
    if asked is None and not run.complete and not failed:
        failed = 1
    exit_code = run.exit_status if run.exit_status is not None else run.process.exit_code
    skipped = sum(status in ("skipped", "xfailed") for status in statuses.values())
    summary = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
    observation: dict[str, Any] = {"exit_code": exit_code, "stdout_tail": summary}
    failures = [_failure(test, run) for test in bad[:MAX_FAILURES]]
    if failures:
        observation["failures"] = failures
    if len(bad) > len(failures):
        observation["more_failures"] = bad[len(failures) :][:1000]
    if absent:
        observation["absent"] = absent[:1000]
    if run.collection_errors:
        observation["collection_errors"] = [
            {
                "path": each.path,
                "exception": each.exception,
                "message": _clean(each.message),
                "traceback": _clean(each.traceback)[-MAX_TRACEBACK:],
            }
            for each in run.collection_errors[:MAX_FAILURES]
        ]
    if not run.complete:
        observation["complete"] = False
    if run.spectrum is not None:
        observation["spectrum"] = _spectrum(run.spectrum)
    feedback = Feedback(status="ok", passed=passed, failed=failed)
    if run.failure_stage == "syntax":
        feedback.compile_error = True
    return observation, feedback


def _failure(test: str, run: TestRun) -> dict[str, Any]:
    result = run.tests[test]
    return {
        "test": test,
        "exception": result.exception,
        "message": _clean(result.message),
        "traceback": _clean(result.traceback)[-MAX_TRACEBACK:],
        "frames": [[path, line, function] for path, line, function in result.frames],
    }


def _spectrum(spectrum: Mapping[str, Mapping[int, tuple[int, int]]]) -> dict[str, list[list[int]]]:
    """File -> [first line, last line, failing tests, passing tests] of the lines that failing tests executed."""
    shown: dict[str, list[list[int]]] = {}
    left = MAX_RANGES
    for path in sorted(spectrum):
        ranges: list[list[int]] = []
        for line in sorted(spectrum[path]):
            failing, passing = spectrum[path][line]
            if not failing:
                continue
            if ranges and ranges[-1][1] == line - 1 and ranges[-1][2:] == [failing, passing]:
                ranges[-1][1] = line
            else:
                ranges.append([line, line, failing, passing])
        if ranges and left > 0:
            shown[path] = ranges[:left]
            left -= len(ranges)
    return shown
