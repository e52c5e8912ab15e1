"""Many attempts on many tasks: scheduling, resuming, the run folder, evaluation, replay, branches."""

from __future__ import annotations

from redtogreen.trajectories.collection.again import Replay, branch, grade_again, replay
from redtogreen.trajectories.collection.collect import CollectReport, collect
from redtogreen.trajectories.collection.evaluate import evaluate
from redtogreen.trajectories.collection.load import DamagedJournal, load_run
from redtogreen.trajectories.collection.run_folder import RunFolder, is_run
from redtogreen.trajectories.collection.tables import keep_scores

__all__ = [
    "CollectReport",
    "DamagedJournal",
    "Replay",
    "RunFolder",
    "branch",
    "collect",
    "evaluate",
    "grade_again",
    "is_run",
    "keep_scores",
    "load_run",
    "replay",
]
