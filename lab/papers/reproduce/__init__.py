"""Comparison of the VCRoute paper's numbers with ours, in every mode, with a verdict: `python -m lab reproduce`."""
