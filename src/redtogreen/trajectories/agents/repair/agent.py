"""The repair agent: read, plan, measure, then try one edit after the other until the failing tests pass.

    plan    read the failing test, the code it is called after; write down what is suspected
    coding  run the failing tests with coverage; read the suspicious code
            edit -> run the failing tests -> keep what helps, undo what does not
            all pass -> run the whole suite -> submit

It knows nothing of how a task was made. What it does follows from seed and temperature alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from redtogreen.protocols import AgentSettings, Workspace
from redtogreen.trajectories.agents.repair import investigation as look
from redtogreen.trajectories.agents.repair import tracing
from redtogreen.trajectories.agents.repair.failure import Hints, hints_of
from redtogreen.trajectories.agents.repair.localise import Place, places, read_spectrum, words_of
from redtogreen.trajectories.agents.repair.ranking import Candidate, Ranking
from redtogreen.trajectories.agents.repair.reading import Reading
from redtogreen.trajectories.agents.repair.workbench import Outcome, Workbench

RESERVE = 2
"""Steps kept for the whole suite and submit."""
OPENS = 4
"""Steps spent at most on reading suspicious code before the first edit."""
FUNCTIONS = 8
"""Functions for which repairs are worked out."""
RETHINK = 6
"""Failed tries after which a second plan is written and more code is read."""


@dataclass
class Repair:
    """One attempt."""

    name = "repair"
    version = "1"
    settings: AgentSettings

    def run(self, workspace: Workspace) -> None:
        self.bench = Workbench(workspace, Reading())
        self.ranking = Ranking(self.settings.seed, self.settings.temperature)
        self.failing = look.failing_tests(workspace.task)
        self.source = ""
        self.tries = 0
        self._plan(workspace)
        self._measure(workspace)
        if not self.failing:
            self.bench.act("submit", "coding")
            return
        self._search(workspace)

    def _plan(self, workspace: Workspace) -> None:
        """Read the failing test and what it is about; nothing is executed."""
        if not self.failing:
            self.bench.act("write_plan", "plan", text="The task names no failing test: run the suite to find them.")
            return
        self.source = look.read_test(self.bench, self.failing)
        names = look.names_used(self.source)
        path = look.likely_file(workspace.task, self.failing[0])
        subject = None
        if path is not None:
            look.outline(self.bench, path)
            subject = look.read_definition(self.bench, path, names)
        about = f"{subject} in {path}" if subject else path or "code that the test reaches"
        text = (
            f"Failing: {', '.join(self.failing[:3])}{' and others' if len(self.failing) > 3 else ''}.\n"
            f"The test uses {', '.join(names[:6]) or 'no call I could read'}; I suspect {about}.\n"
            "1. Run the failing tests with coverage beside passing ones of the same file.\n"
            "2. Rank the lines they execute, read the functions they lie in.\n"
            "3. Try small repairs, one at a time; keep what makes tests pass, undo the rest.\n"
            "4. Run the whole suite, then submit."
        )
        self.bench.act("write_plan", "plan", text=text)

    def _measure(self, workspace: Workspace) -> None:
        """Run failing and passing tests with coverage; rank places; read the most suspicious code."""
        task = workspace.task
        tests = self.failing + look.neighbours(task, self.failing) if self.failing else None
        outcome = self.bench.run_tests(tests, coverage=True, seconds=120)
        visible = set(task.visible_tests)
        self.failing = [test for test in task.visible_tests if test in outcome.failing] or self.failing
        self.failing = [test for test in self.failing if test in visible]
        spectrum = read_spectrum(outcome.observation)
        self.spectrum = {path: lines for path, lines in spectrum.items() if not look.is_test_file(path)}
        self.failures = [failure for failure in outcome.failures if failure.test in visible] or list(outcome.failures)
        self._trace(workspace)
        self._rank(read=min(OPENS, max(0, self.bench.steps_left - RESERVE - 6)))

    def _trace(self, workspace: Workspace) -> None:
        """Note which types the variables of the suspicious files hold while the failing tests run."""
        allowed = workspace.task.limits.actions
        if not self.failing or not self.spectrum or (allowed is not None and "run_command" not in allowed):
            return
        weights: dict[str, float] = {}
        for place in self._places(set()):
            weights[place.path] = weights.get(place.path, 0.0) + place.weight
        files = sorted(weights, key=lambda path: (-weights[path], path))[:3]
        cmd = tracing.command(files, self.failing[:3])
        answer = self.bench.act("run_command", "coding", cmd=cmd, seconds=tracing.SECONDS)
        self.ranking.observed = tracing.read(answer.observation.get("stdout_tail", ""))

    def _rank(self, read: int) -> None:
        """Order the places, read, and score repairs; again whenever the state or the knowledge has changed."""
        words = words_of(" ".join([*self.failing, *look.names_used(self.source)])) - {"test", "tests"}
        suspicious = self._places(words)
        if read:
            look.read_suspicious(self.bench, list(suspicious), read)
            suspicious = self._places(words)
        hints: Hints = hints_of(self.failures, self.source)
        if self.settings.options.get("shuffle_places") == "yes":
            suspicious = shuffled(suspicious, self.settings.seed)
            hints.crashes.clear()  # where something was raised is knowledge of places, too
        self.ranking.build(self.bench.reading, self.spectrum, suspicious, hints, FUNCTIONS)

    def _places(self, words: set[str]) -> list[Place]:
        def name(path: str, line: int) -> str | None:
            extent = self.bench.reading.extent(path, line)
            return extent[0] if extent else None

        return places(self.spectrum, self.failures, name, words)

    def _search(self, workspace: Workspace) -> None:
        """Edit, run, keep or undo, while steps are left."""
        bench = self.bench
        while True:
            candidate = self.ranking.next()
            if candidate is None or bench.steps_left < bench.cost(candidate.suggestion) + RESERVE:
                break
            if not bench.try_edit(candidate.suggestion):
                continue
            self.tries += 1
            outcome = bench.run_tests(self.failing)
            if not outcome.failing and outcome.finished:
                if self._confirm(workspace):
                    return
            elif self._better(outcome):
                self._build_on(outcome, candidate)
            else:
                changed = {(each.test, *each.key) for each in outcome.failures} != self._known
                self.ranking.tried_in_vain(candidate, changed=changed)
            if self.tries == RETHINK and bench.steps_left >= RESERVE + 8:
                self._rethink()
        self._finish()

    @property
    def _known(self) -> set[tuple[str, str, str]]:
        """How the failing tests fail without the trial."""
        return {(each.test, *each.key) for each in self.failures if each.test in self.failing}

    def _better(self, outcome: Outcome) -> bool:
        """Fewer of the known tests fail than before, and none that passed."""
        return outcome.finished and outcome.failing < set(self.failing)

    def _build_on(self, outcome: Outcome, candidate: Candidate) -> None:
        """Keep an edit that repaired some tests, and look again from there."""
        self.bench.keep()
        shift = len(candidate.suggestion.new) - (candidate.suggestion.last - candidate.suggestion.first + 1)
        self.spectrum = {
            path: _moved(lines, candidate.suggestion.last, shift) if path == candidate.suggestion.path else lines
            for path, lines in self.spectrum.items()
        }
        self.failing = [test for test in self.failing if test in outcome.failing]
        self.failures = list(outcome.failures)
        self._rank(read=0)

    def _confirm(self, workspace: Workspace) -> bool:
        """Run the whole suite; submit when it is green."""
        outcome = self.bench.run_tests(None, seconds=180)
        broken = set(workspace.task.visible_tests) & outcome.failing
        if not broken and outcome.finished:
            self.bench.act("submit", "coding")
            return True
        return False

    def _rethink(self) -> None:
        """Write down what did not help, read on where suspicion is left."""
        top = self.ranking.top(3)
        suspects = ", ".join(dict.fromkeys(f"{each.function.name} ({each.function.path})" for each in top))
        text = (
            f"{self.tries} repairs have not helped; the failing tests still fail: {', '.join(self.failing[:3])}.\n"
            f"Read more of the code they reach, then go on with {suspects or 'what is left'}."
        )
        self.bench.act("write_plan", "plan", text=text)
        self._rank(read=1)

    def _finish(self) -> None:
        """No repair found: leave the best state. Submit it when it repaired something, else give up."""
        if self.bench.trial is not None and self.bench.steps_left >= 1:
            self.bench.undo()
        if self.bench.kept and self.bench.steps_left >= 1:
            self.bench.act("submit", "coding")


def shuffled(found: list[Place], seed: int) -> list[Place]:
    """The control: the same places with their weights dealt out at random."""
    weights = [place.weight for place in found]
    random.Random(f"shuffle:{seed}").shuffle(weights)
    return [replace(place, weight=weight) for place, weight in zip(found, weights, strict=True)]


def _moved(lines: dict[int, tuple[int, int]], after: int, shift: int) -> dict[int, tuple[int, int]]:
    return {(line + shift if line > after else line): counts for line, counts in lines.items()}
