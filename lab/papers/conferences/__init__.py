"""Celerity's paper (S2): verdicts on its statements about the dumbbell, its formulas and its messages."""
