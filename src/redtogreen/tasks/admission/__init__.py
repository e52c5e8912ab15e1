"""Nothing becomes a task unproven. Read `admit` first, then `baseline` (the project) and `verify` (one candidate)."""

from __future__ import annotations

from redtogreen.tasks.admission.admit import AdmitReport, Counts, admit

__all__ = ["AdmitReport", "Counts", "admit"]
