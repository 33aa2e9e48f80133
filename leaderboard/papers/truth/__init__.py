"""Claims of the VCRoute paper, judged by world and accounting: `vcgym-truth`."""
