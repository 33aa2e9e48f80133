"""Announcements on standard error, so that a user knows why the first call takes long."""

import os
import sys
from collections.abc import Sequence

_SAID = "VCGYM_COMPILING"  # set by the announcing process for its child processes


def announce_compiling() -> None:
    """Announce that kernels are being compiled, unless this process or a parent has announced something."""
    _say("compiling kernels, once: about 20 s for an environment, 2 minutes for the systems of a suite")


def announce_unknown(version: str, known: Sequence[str]) -> None:
    """Announce that nothing compiled is kept with this `version` of numba, unless something was announced."""
    _say(f"numba {version}: kernels are compiled anew by each process, about 30 s for an environment; kept with {known[0]} to {known[-1]}")


def _say(text: str) -> None:
    if _SAID not in os.environ:
        os.environ[_SAID] = "said"
        sys.stderr.write(f"vcgym: {text}\n")
