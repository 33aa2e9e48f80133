"""Every published number of the VCRoute paper beside ours, in every mode, with a verdict: `vcgym-reproduce`."""
