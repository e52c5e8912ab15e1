"""The red team: attacks on the grader, weaker graders that they get past, and honest work that looks unusual."""
