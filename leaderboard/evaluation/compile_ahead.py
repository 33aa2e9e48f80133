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
from vcgym.network.kernels.jit import modules_of
from vcgym.network.kernels.sources import cache_home, code_hash
from vcgym.network.scenarios.scenario import Scenario

FEWEST = 4  # systems for which another process is worth its start of two seconds


def compile_ahead(systems: Iterable[System], processes: int) -> None:
    """Compile what plays each of `systems`; those whose rules are of the same types share it, and what was compiled before is left out.

    Args:
        systems: of calls over paths.
        processes: how many processes share the work, this one not counted; 1: nothing is compiled ahead.
    """
    missing = {mark: system for system in systems if not (mark := _mark(system)).exists()}
    if processes < 2 or len(missing) < FEWEST:
        return
    marks = list(missing)
    _compile({marks[0]: missing[marks[0]]})  # most of its code is everybody's
    shares = [{mark: missing[mark] for mark in marks[1 + n :: processes]} for n in range(processes)]
    children = [subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE) for _ in shares]
    for child, share in zip(children, shares, strict=True):
        assert child.stdin is not None
        with child.stdin as stream:
            stream.write(pickle.dumps(share))
    for child in children:
        child.wait()


def _mark(system: System) -> Path:
    """Return the file that says that the loop of a system is compiled."""
    kind = numba.typeof((system.router, system.receiver))
    code = code_hash(frozenset([batches_together.__module__, *modules_of(kind)]))
    return cache_home() / "compiled" / hashlib.sha256(f"{code} {kind}".encode()).hexdigest()[:32]


def _compile(systems: dict[Path, System]) -> None:
    scenario = Scenario("table1", "correlated", 1)
    draw = scenario.draw("train", 0)
    for mark, system in systems.items():
        (batch,) = batches_together(scenario, [(system.router, system.receiver)], 1, log=True)
        batch.start(0, draw)
        batch.play_loaded(np.zeros(0, np.int64))
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


if __name__ == "__main__":
    _compile(pickle.loads(sys.stdin.buffer.read()))
