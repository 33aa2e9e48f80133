"""Announcement of compiling on the standard error, so that a new user knows why the first call takes long."""

import os
import sys

_SAID = "VCGYM_COMPILING"  # set by the process that has said so, for those that it starts


def announce_compiling() -> None:
    """Say that kernels are compiled, unless this process or one above it has said so."""
    if _SAID not in os.environ:
        os.environ[_SAID] = "said"
        sys.stderr.write("vcgym: compiling kernels, once: about 20 s for an environment, 2 minutes for the systems of a suite\n")
