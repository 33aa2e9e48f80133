"""Agreement of a fitted path with the trace to which it was fitted, by drawing worlds as long as the trace and probing them where it was.

A tail that a trace has once makes the deviation of single worlds differ by half. So the median world is compared, and a measured value
among those of the worlds agrees.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.fitting.laws import RegimePath
from vcgym.network.fitting.traces import Observed, drawn_us, loss_of, step_ms
from vcgym.network.kernels.slots import LOST

WORLDS = 9
MAX_SLOTS = 360_000  # an hour
_FIRST_SEED = 1_000  # none of the fit's own

TOLERANCES = {
    "step, ms": (0.15, 0.1),
    "deviation, ms": (0.25, 0.3),
    "loss, %": (0.2, 0.1),
    "run of losses, slots": (0.3, 0.5),
    "concealed, %": (0.5, 0.5),
}
"""Allowed difference of each statistic: the share of the measured value, plus an amount in its unit. Declared."""


class Agreement(NamedTuple):
    """Statistic of one path: its name, a key of `TOLERANCES`; measured; and of each drawn world."""

    name: str
    measured: float
    worlds: list[float]

    @property
    def drawn(self) -> float:
        """The median world."""
        return float(np.median(self.worlds))

    @property
    def agreeing(self) -> tuple[float, float]:
        """The lowest and highest measured value that agrees: within the tolerance of the median world, or among the worlds."""
        share, amount = TOLERANCES[self.name]
        lowest, highest = (self.drawn - amount) / (1.0 + share), (self.drawn + amount) / (1.0 - share)
        return min(*self.worlds, max(lowest, 0.0)), max(*self.worlds, highest)

    @property
    def agrees(self) -> bool:
        """True if the measured value agrees."""
        lowest, highest = self.agreeing
        return lowest <= self.measured <= highest


def draw(path: Observed, law: RegimePath) -> list[NDArray[np.int64]]:
    """Draw `WORLDS` worlds of one path, each as long as its trace but at most `MAX_SLOTS`: (slots,) microseconds or LOST."""
    slots = min(len(path.delay_us), MAX_SLOTS)
    return [drawn_us((law,), slots, lossless=False, seed=_FIRST_SEED + n)[0] for n in range(WORLDS)]


def held(drawn: NDArray[np.int64], path: Observed) -> NDArray[np.int64]:
    """Return a drawn world (slots,) as a trace of it plays: a slot without an answered probe repeats the last slot with one."""
    answered = path.answered[: len(drawn)]
    return drawn[np.maximum.accumulate(np.where(answered, np.arange(len(drawn)), np.argmax(answered)))]


def compare(path: Observed, drawn: list[NDArray[np.int64]]) -> list[Agreement]:
    """Compare a path with worlds drawn of its law: step, deviation, loss and its runs."""
    played = [one[path.answered[: len(one)] & (one != LOST)] / 1000.0 for one in drawn]
    (share, run), losses = path.loss, [loss_of(one == LOST) for one in drawn]
    return [
        Agreement("step, ms", step_ms(path.values_ms), [*map(step_ms, played)]),
        Agreement("deviation, ms", float(path.values_ms.std()), [float(one.std()) for one in played]),
        Agreement("loss, %", 100.0 * share, [100.0 * one for one, _ in losses]),
        Agreement("run of losses, slots", run, [one for _, one in losses]),
    ]
