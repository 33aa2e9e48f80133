"""Published numbers of the VCRoute paper beside ours, in every mode, with a verdict: `vcgym-reproduce`."""
