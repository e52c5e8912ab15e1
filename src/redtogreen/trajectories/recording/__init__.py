"""Writing down what an agent did and what it saw, while it happens."""
