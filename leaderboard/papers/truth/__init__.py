"""Verdicts on the claims of the VCRoute paper by world and accounting: `vcgym-truth`."""
