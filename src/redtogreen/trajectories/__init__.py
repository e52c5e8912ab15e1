"""Agents at work on tasks, recorded step by step."""
