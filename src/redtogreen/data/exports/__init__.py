"""Dataset rows -> a trainer's files, by format name."""

from redtogreen.data.exports.exporting import export, format_names

__all__ = ["export", "format_names"]
