"""Measurement of a figure: the best of several rounds, and the spread to the worst.

A single thread is measured in its CPU time, several threads in wall-clock time.
Absolute figures depend on the machine; ratios compare implementations.
"""

import math
import statistics
import time
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

Run = Callable[[], Any]


class Measurement(NamedTuple):
    """Measured figure of the benchmark.

    Attributes:
        name: name of the figure.
        value: best round, or median of ratios.
        unit: unit of the value.
        threads: number of threads.
        rounds: number of rounds.
        spread: for rounds 1 - shortest / longest time; for ratios (largest - smallest) / median.
    """

    name: str
    value: float
    unit: str
    threads: int
    rounds: int
    spread: float


class Absent(NamedTuple):
    """Figure that could not be measured, and the reason."""

    name: str
    why: str


class Effort(NamedTuple):
    """Amount of work per figure: rounds, minimum duration of a round (s), and share of the full size (1: the figure as named)."""

    rounds: int = 8
    round_s: float = 0.2
    scale: float = 1.0

    def part(self, whole: int, minimum: int = 1) -> int:
        """Return `whole` at this scale, but at least `least`."""
        return max(minimum, round(whole * self.scale))


def rate(name: str, unit: str, amount: float, run: Run, effort: Effort, threads: int = 1) -> Measurement:
    """Measure `amount` per second, where one `run` processes `amount`."""
    took = _rounds(run, effort, threads)
    return Measurement(name, amount / min(took), unit, threads, len(took), 1.0 - min(took) / max(took))


def duration(name: str, run: Run, effort: Effort, threads: int = 1) -> Measurement:
    """Measure the seconds of one `run`."""
    took = _rounds(run, effort, threads)
    return Measurement(name, min(took), "s", threads, len(took), 1.0 - min(took) / max(took))


def median_ratio(name: str, slow: tuple[float, Run], fast: tuple[float, Run], effort: Effort) -> Measurement:
    """Measure the ratio of time per unit of `slow` to `fast` (each an amount and its run): the median over alternating rounds."""
    watches = [_Stopwatch(run, effort, 1) for _, run in (slow, fast)]
    ratios = []
    for _ in range(effort.rounds):
        slow_s, fast_s = (watch.round() for watch in watches)
        ratios.append((slow_s / slow[0]) / (fast_s / fast[0]))
    middle = statistics.median(ratios)
    return Measurement(name, middle, "x", 1, effort.rounds, (max(ratios) - min(ratios)) / middle)


class _Stopwatch:
    """Timer of `run`, which is repeated in each round for about `round_s` seconds."""

    def __init__(self, run: Run, effort: Effort, threads: int) -> None:
        run()  # compiles
        self._timer = timeit.Timer(run, timer=time.thread_time if threads == 1 else time.perf_counter)
        self._times = max(1, math.ceil(effort.round_s / max(self._timer.timeit(1), 1e-6)))

    def round(self) -> float:
        return self._timer.timeit(self._times) / self._times


def _rounds(run: Run, effort: Effort, threads: int) -> list[float]:
    watch = _Stopwatch(run, effort, threads)
    return [watch.round() for _ in range(effort.rounds)]
