"""Agents that ship with redtogreen: program repair without a model, and scripted ones."""
