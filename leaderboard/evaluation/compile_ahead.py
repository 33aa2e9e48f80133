"""Compile the loops of systems ahead of time in parallel processes: numba compiles one function at a time per process.

The processes write compiled code to the kernel cache, where playing finds it. A loop that fails to compile here is compiled again when it
is played, and raises its error there.
"""

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numba
import numpy as np

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.together import batches_together
from vcgym.network.kernels.compiling.disk_cache import announce_compiling
from vcgym.network.kernels.compiling.sources import cache_home, code_hash, modules_of
from vcgym.network.scenarios.scenario import Scenario

FEWEST = 4  # minimum systems per process, whose start takes two seconds


def compile_ahead(systems: Iterable[System], processes: int) -> None:
    """Compile the loop of each system of calls over paths; systems with rules of the same types share a loop, and cached loops are skipped.

    One process first compiles the first system, with the code that all share, while this process compiles the sampling of worlds. Then the
    other systems are distributed.

    Args:
        systems: all that will play.
        processes: number of processes besides this one; 1: nothing is compiled ahead.
    """
    if numba.config.DISABLE_JIT:  # nothing would be kept for this process
        return
    over_paths = (system for system in systems if system.fits(PATHS.controls))
    missing = {mark: system for system in over_paths if not (mark := _mark(system)).exists()}
    if processes < 2 or len(missing) < FEWEST:
        return
    announce_compiling()  # before the processes that it starts would
    first, *others = missing.items()
    child = _start([first])
    _compile_worlds()
    child.wait()
    for child in [_start(others[n::processes]) for n in range(min(processes, len(others)))]:
        child.wait()


def _start(share: list[tuple[Path, System]]) -> subprocess.Popen[bytes]:
    """Start a process that compiles some systems; it prints nothing, not even when it is interrupted."""
    child = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    with child.stdin as stream:
        stream.write(pickle.dumps(share))
    return child


def _mark(system: System) -> Path:
    """Return the file that marks the loop of a system as compiled."""
    kind = numba.typeof(system.chosen)
    code = code_hash(frozenset([batches_together.__module__, *modules_of(kind)]))
    return cache_home() / "compiled" / hashlib.sha256(f"{code} {kind}".encode()).hexdigest()[:32]


def _compile(share: list[tuple[Path, System]]) -> None:
    scenario = Scenario("table1", "correlated", 1)
    draw = scenario.draw("train", 0)
    history = np.ones((scenario.paths, 3))  # given, so that no world is sampled
    for mark, system in share:
        (batch,) = batches_together(scenario, [system.rules], 1, log=True)
        batch.start(0, draw, history)
        batch.play_loaded(np.zeros(0, np.int64))
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _compile_worlds() -> None:
    for mode in ("correlated", "paper"):
        scenario = Scenario("table1", mode, 1)
        world = scenario.world(1)
        world.start(0, scenario.draw("train", 0))
        world.fill(np.zeros(1, np.int64))


if __name__ == "__main__":
    _compile(pickle.loads(sys.stdin.buffer.read()))
