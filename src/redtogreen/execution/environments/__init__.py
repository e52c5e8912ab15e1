"""Projects and the environments their tests run in: found out statically, built once, named by their content."""

from __future__ import annotations

from redtogreen.execution.environments.discovery import build_environment
from redtogreen.execution.environments.environment import Environment, load_environment, open_workspace
from redtogreen.execution.environments.project import Project, open_project

__all__ = ["Environment", "Project", "build_environment", "load_environment", "open_project", "open_workspace"]
