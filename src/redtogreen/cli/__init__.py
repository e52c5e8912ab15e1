"""The command line: one module per command group, no logic. Data goes to stdout, talk to stderr."""
