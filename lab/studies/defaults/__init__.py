"""Defaults of the environments: which of them let a learner at its own defaults learn, by training and scoring agents."""
