"""Run foreign code: sandboxes, environments, test runs, executors."""
