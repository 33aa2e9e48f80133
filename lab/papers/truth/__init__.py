"""Verdicts on the claims of the VCRoute paper by world and accounting: `python -m lab truth`."""
