"""Where candidate tasks come from. One module per source; every source writes the same kind of tasks file."""

from __future__ import annotations

from redtogreen.tasks.sources.folder import make_folder_task
from redtogreen.tasks.sources.mutate import MakeReport, make_mutants

__all__ = ["MakeReport", "make_folder_task", "make_mutants"]
