"""Fit of measured traces, one per path, to the laws of mode `correlated`; and the scenario file that holds them.

Per path, from one delay per 10-ms slot. Estimated: base and lognormal excess (`queueing_excess`, of the smallest delay, the mean, and the
median over bursts of `BURST_PINGS` slots a second apart of the largest delay); the loss and its runs; the correlation time, the lag at
which the autocorrelation of the normal scores falls to 1/e. Left out: bad hours, shifts of the base, and dependence between paths. What of
these is in a trace counts as queueing.
"""

import math
from statistics import NormalDist
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vcgym.network.fitting.links import BURST_PINGS, queueing_excess
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import Card, Carded, DataError, Queue, canonical_sha256
from vcgym.network.worlds.correlated import MAX_TAU_MS

SLOTS_PER_S = 1_000_000 // SLOT_US
MIN_SLOTS = BURST_PINGS * SLOTS_PER_S
"""Answered slots that a fit needs: one burst for each phase of a second."""


class FittedPath(Queue):
    """Law of one path, in one-way milliseconds.

    Attributes:
        loss: share of slots lost, 0 to 1.
        loss_run: L of `vcgym.network.worlds.bad_hours`, in slots: a run of losses has L / (1 - loss) slots on average.
        tau_ms: correlation time of the queueing.
    """

    loss: Annotated[float, Field(ge=0.0, lt=1.0)]
    loss_run: Annotated[float, Field(ge=1.0)]
    tau_ms: Annotated[float, Field(ge=0.0, le=MAX_TAU_MS)]

    @property
    def mean_ms(self) -> float:
        """Return the mean delay in milliseconds."""
        return self.base_ms + math.exp(self.log_mean + self.log_sd**2 / 2.0)


class FittedScenario(Carded):
    """Content of a scenario file: the laws of the paths of each pair, in the order of `paths`."""

    paths: tuple[str, ...]
    pairs: dict[str, tuple[FittedPath, ...]]


def fit_path(name: str, delay_us: NDArray[np.int64]) -> FittedPath:
    """Fit one series (slots,) of one-way delays in microseconds or LOST; losses after the last answer do not count.

    Raises:
        DataError: fewer than MIN_SLOTS slots were answered; it gives `name`.
    """
    answered = np.flatnonzero(delay_us != LOST)
    if len(answered) < MIN_SLOTS:
        raise DataError(f"trace {name}", "answered slots of 10 ms", len(answered), f"at least {MIN_SLOTS}, 30 s")
    delay_us = delay_us[: answered[-1] + 1]
    lost, values_ms = delay_us == LOST, delay_us[answered] / 1000.0
    bursts_us = delay_us[: len(delay_us) // MIN_SLOTS * MIN_SLOTS].reshape(-1, BURST_PINGS, SLOTS_PER_S)
    largest_us = bursts_us.max(axis=1)
    queue = queueing_excess(float(values_ms.min()), float(values_ms.mean()), float(np.median(largest_us[largest_us != LOST])) / 1000.0)
    runs = int(np.count_nonzero(np.diff(lost.astype(np.int8), prepend=0) == 1))
    loss_run = max(lost.sum() / runs * (1.0 - lost.mean()), 1.0) if runs else 1.0
    tau_ms = correlation_time_ms(np.interp(np.arange(len(delay_us)), answered, values_ms))
    return FittedPath(**queue.model_dump(), loss=float(lost.mean()), loss_run=float(loss_run), tau_ms=tau_ms)


def correlation_time_ms(values: NDArray[np.float64]) -> float:
    """Return tau of exp(-t / tau), the autocorrelation of the normal scores of a series of slots (slots,), 0 to MAX_TAU_MS.

    It is -t / ln r(t) at the first lag t with r(t) < 1/e.
    """
    n = len(values)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    at = np.linspace(0.0, 1.0, 1001)
    scores = np.interp((ranks + 0.5) / n, at[1:-1], [NormalDist().inv_cdf(p) for p in at[1:-1]])
    spectrum = np.abs(np.fft.rfft(scores - scores.mean(), 2 * n)) ** 2
    summed = np.fft.irfft(spectrum)[: n // 2]
    correlation = summed / summed[0] * n / (n - np.arange(n // 2))
    below = correlation < math.exp(-1.0)
    lag = int(np.argmax(below)) if below.any() else n // 2
    found = -lag * SLOT_US / 1000.0 / math.log(max(correlation[lag], 1e-9)) if below.any() else MAX_TAU_MS
    return float(min(found, MAX_TAU_MS))


def fit_pairs(pairs: tuple[str, ...], paths: tuple[str, ...], slots: NDArray[np.int64], traces: str) -> FittedScenario:
    """Fit every path of every pair; `slots` (pairs, paths, slots) in microseconds or LOST; `traces` names their origin.

    Raises:
        DataError: a path has too few answered slots.
    """
    laws = {
        pair: tuple(fit_path(f"{pair}/{path}", row) for path, row in zip(paths, rows, strict=True))
        for pair, rows in zip(pairs, slots, strict=True)
    }
    body = {
        "paths": list(paths),
        "pairs": {pair: [law.model_dump(exclude_defaults=True) for law in of_pair] for pair, of_pair in laws.items()},
    }
    card = Card(
        name="fitted", description=f"Laws of {len(pairs)} x {len(paths)} paths, fitted to traces", source=traces,
        licence="that of the traces", sha256=canonical_sha256(body), kind="fitted",
        units="one-way milliseconds; log_mean is the natural logarithm of milliseconds",
    )  # fmt: skip
    return FittedScenario(card=card, paths=paths, pairs=laws)
