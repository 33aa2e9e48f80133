"""Announcement of kernel compilation on standard error, so that a new user knows why the first call takes long."""

import os
import sys

_SAID = "VCGYM_COMPILING"  # set by the announcing process for its child processes


def announce_compiling() -> None:
    """Announce that kernels are being compiled, unless this process or a parent has done so."""
    if _SAID not in os.environ:
        os.environ[_SAID] = "said"
        sys.stderr.write("vcgym: compiling kernels, once: about 20 s for an environment, 2 minutes for the systems of a suite\n")
