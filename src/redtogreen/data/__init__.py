"""Trajectories -> an immutable dataset version -> a trainer's files: cleaning, datasets, exports."""
