"""Measurement of a figure: the best of several rounds, and how far the worst lay behind.

One thread is measured in CPU time of that thread, what one core does in a second of its own; several threads in wall-clock time.
Absolute figures are the machine's, ratios are ours.
"""

import math
import statistics
import time
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

Run = Callable[[], Any]


class Record(NamedTuple):
    """Figure of the benchmark.

    Attributes:
        name: what was measured.
        value: the best round, or the median of ratios.
        unit: of the value.
        threads: how many worked at it.
        rounds: how many rounds were played.
        spread: of rounds, 1 - shortest / longest time; of ratios, (largest - smallest) / median.
    """

    name: str
    value: float
    unit: str
    threads: int
    rounds: int
    spread: float


class Absent(NamedTuple):
    """A figure that could not be taken, and why."""

    name: str
    why: str


class Effort(NamedTuple):
    """Amount of work for a figure: rounds, the shortest round in seconds, and the share of the full size (1: the figure as named)."""

    rounds: int = 8
    round_s: float = 0.2
    scale: float = 1.0

    def part(self, whole: int, least: int = 1) -> int:
        """`whole` at this scale, no less than `least`."""
        return max(least, round(whole * self.scale))


def rate(name: str, unit: str, amount: float, run: Run, effort: Effort, threads: int = 1) -> Record:
    """Return `amount` per second; `run` does it once."""
    took = _rounds(run, effort, threads)
    return Record(name, amount / min(took), unit, threads, len(took), 1.0 - min(took) / max(took))


def duration(name: str, run: Run, effort: Effort, threads: int = 1) -> Record:
    """Seconds that `run` takes."""
    took = _rounds(run, effort, threads)
    return Record(name, min(took), "s", threads, len(took), 1.0 - min(took) / max(took))


def median_ratio(name: str, slow: tuple[float, Run], fast: tuple[float, Run], effort: Effort) -> Record:
    """Return the ratio of the time of a unit of `slow` to `fast`, each an amount and its run: median over rounds that take turns."""
    watches = [_Stopwatch(run, effort, 1) for _, run in (slow, fast)]
    ratios = []
    for _ in range(effort.rounds):
        slow_s, fast_s = (watch.round() for watch in watches)
        ratios.append((slow_s / slow[0]) / (fast_s / fast[0]))
    middle = statistics.median(ratios)
    return Record(name, middle, "x", 1, effort.rounds, (max(ratios) - min(ratios)) / middle)


class _Stopwatch:
    """Times `run`, done so many times per round that a round lasts about `round_s`."""

    def __init__(self, run: Run, effort: Effort, threads: int) -> None:
        run()  # compiles
        self._timer = timeit.Timer(run, timer=time.thread_time if threads == 1 else time.perf_counter)
        self._times = max(1, math.ceil(effort.round_s / max(self._timer.timeit(1), 1e-6)))

    def round(self) -> float:
        return self._timer.timeit(self._times) / self._times


def _rounds(run: Run, effort: Effort, threads: int) -> list[float]:
    watch = _Stopwatch(run, effort, threads)
    return [watch.round() for _ in range(effort.rounds)]
