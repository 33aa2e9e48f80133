"""Memory and start-up time: bytes per session, memory growth over a long call, time from start to the first step."""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator

import numpy as np

from lab.bench.measure import Effort, Measurement
from lab.bench.packets import PACKETS
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario

SESSIONS = 64
LONG_SESSIONS = 4
SHORT, LONG = 100_000, 1_000_000  # packets

_FIRST_STEP = """
import gymnasium
import vcgym.envs

env = gymnasium.make("vcgym/Call-v1")
env.reset(seed=0)
env.step(env.action_space.sample())
"""


def bytes_per_session(effort: Effort) -> Iterator[Measurement]:
    """Yield the memory of a DRT-WM call of 6,000 packets over 17 paths, including its world, without a log."""
    yield Measurement("bytes_per_session", _peak_bytes("wonderproxy", SESSIONS, effort.part(PACKETS)) / SESSIONS, "bytes", 1, 1, 0.0)


def bytes_per_packet(effort: Effort) -> Iterator[Measurement]:
    """Yield the growth of peak memory with the length of a call, in bytes per packet and session (0: constant memory)."""
    short, long = effort.part(SHORT), effort.part(LONG)
    growth = _peak_bytes("table1", LONG_SESSIONS, long) - _peak_bytes("table1", LONG_SESSIONS, short)
    yield Measurement("bytes_per_packet", growth / (LONG_SESSIONS * (long - short)), "bytes", 1, 1, 0.0)


def _peak_bytes(name: str, sessions: int, packets: int) -> int:
    """Return the peak memory of Python and numpy while calls are created and played; kernels keep no allocations."""
    scenario, rows = Scenario(name, "paper", packets), np.arange(sessions)
    for warm in (True, False):  # the first pass loads the kernels, whose memory does not count
        tracemalloc.start()
        batch = CallBatch(scenario, sessions, Direct(), WMJitter())
        for row in rows:
            batch.start(int(row), scenario.draw("train", int(row)))
        batch.play(rows[:1] if warm else rows)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def import_time(effort: Effort) -> Iterator[Measurement]:
    """Measure `import vcgym.envs` with a warm kernel cache."""
    yield _start("import_s", "import vcgym.envs", effort.rounds)


def warm_start(effort: Effort) -> Iterator[Measurement]:
    """Measure the time from the start of Python to the first step of `vcgym/Call-v1`, with cached kernels."""
    yield _start("warm_start_s", _FIRST_STEP, effort.rounds)


def cold_start(effort: Effort) -> Iterator[Measurement]:
    """Measure the same with an empty kernel cache, in a single round because it compiles everything."""
    with tempfile.TemporaryDirectory() as empty:
        yield _start("cold_start_s", _FIRST_STEP, 1, NUMBA_CACHE_DIR=empty)


def _start(name: str, source: str, rounds: int, **environment: str) -> Measurement:
    if not environment:
        _python(source)
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        _python(source, **environment)
        took.append(time.perf_counter() - began)
    return Measurement(name, min(took), "s", 1, rounds, 1.0 - min(took) / max(took))


def _python(source: str, **environment: str) -> None:
    command = [sys.executable, "-c", source]
    subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)
