"""What travels through the chain: typed records, their schema versions, reading and writing them.

Field names are a contract: they are what files hold. Every struct refuses unknown fields; `extra` is where
foreign fields go. Nothing here imports another part of redtogreen but its errors.
"""

from redtogreen.records.grade import Finding, Grade, Outcome, TwinCount
from redtogreen.records.jsonl import RowError, decode, encode, read_rows, read_strict, write_jsonl
from redtogreen.records.kinds import check_kind
from redtogreen.records.reward import ComponentScore, Evidence, Score
from redtogreen.records.task import (
    Certificate,
    Limits,
    Provenance,
    Reference,
    StartState,
    Task,
    TaskView,
    TestSets,
)
from redtogreen.records.trajectory import (
    ACTIONS,
    Branch,
    Ending,
    Feedback,
    FinalState,
    Metadata,
    Probe,
    Step,
    TestSummary,
    Trajectory,
)
from redtogreen.records.verdict import Verdict

__all__ = [
    "ACTIONS",
    "Branch",
    "Certificate",
    "ComponentScore",
    "Ending",
    "Evidence",
    "Feedback",
    "FinalState",
    "Finding",
    "Grade",
    "Limits",
    "Metadata",
    "Outcome",
    "Probe",
    "Provenance",
    "Reference",
    "RowError",
    "Score",
    "StartState",
    "Step",
    "Task",
    "TaskView",
    "TestSets",
    "TestSummary",
    "Trajectory",
    "TwinCount",
    "Verdict",
    "check_kind",
    "decode",
    "encode",
    "read_rows",
    "read_strict",
    "write_jsonl",
]
