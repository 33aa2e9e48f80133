"""Score of one rule file on a small suite of training worlds, in a process with limits: an objective for program search."""
