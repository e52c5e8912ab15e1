"""Measurements, one command each: `python -m benchmarks` lists them. Nothing here is part of the package."""
