"""Which claims of the VCRoute paper hold, in which world, in which accounting: `vcgym-truth`."""
