"""One self-contained HTML page about a run, a dataset or a file of attempts."""

from redtogreen.insight.report.inputs import facts_of
from redtogreen.insight.report.page import render, write_report

__all__ = ["facts_of", "render", "write_report"]
