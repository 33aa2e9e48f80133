"""Compile what plays systems in processes side by side: numba compiles one function at a time in each process.

The processes leave compiled code in the cache of kernels, where playing finds it. What one of them fails to compile is compiled when it is
played, and fails there with its reason.
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
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import batches_together
from vcgym.network.kernels.announcement import announce_compiling
from vcgym.network.kernels.jit import modules_of
from vcgym.network.kernels.sources import cache_home, code_hash
from vcgym.network.scenarios.scenario import Scenario

FEWEST = 4  # systems for which another process is worth its start of two seconds


def compile_ahead(systems: Iterable[System], processes: int) -> None:
    """Compile what plays each of `systems`; those whose rules are of the same types share it, and what was compiled before is left out.

    First what all share: a process compiles the first system while this one compiles the drawing of worlds. Then the others are dealt out.

    Args:
        systems: of calls over paths.
        processes: how many processes share the work, this one not counted; 1: nothing is compiled ahead.
    """
    missing = {mark: system for system in systems if not (mark := _mark(system)).exists()}
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
    """Start a process that compiles the systems of a share; it says nothing, on an interrupt either."""
    child = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    with child.stdin as stream:
        stream.write(pickle.dumps(share))
    return child


def _mark(system: System) -> Path:
    """Return the file that says that the loop of a system is compiled."""
    kind = numba.typeof((system.router, system.receiver))
    code = code_hash(frozenset([batches_together.__module__, *modules_of(kind)]))
    return cache_home() / "compiled" / hashlib.sha256(f"{code} {kind}".encode()).hexdigest()[:32]


def _compile(share: list[tuple[Path, System]]) -> None:
    scenario = Scenario("table1", "correlated", 1)
    draw = scenario.draw("train", 0)
    history = np.ones((scenario.paths, 3))  # given, so that no world is drawn
    for mark, system in share:
        (batch,) = batches_together(scenario, [(system.router, system.receiver)], 1, log=True)
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
