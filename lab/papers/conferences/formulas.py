"""Celerity's formulas on small cases and on random link rates.

ring_bound     min-cut of a source with three receivers, 1 unit to each of them and 1 on a ring among them
ring_trees     the best packing of two-hop trees into the same rates
concavity      largest excess of the mean of two rates over the rate at the mean of their link rates
subgradient    largest excess of a rate over its linear bound from other link rates
delay_bound    min-cut of a receiver whose only relay is 210 ms away, 1 unit on each link
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.optimum.packed_rate import packed_rate
from vcgym.baselines.conference.session_rate import min_cut, session_rate
from vcgym.baselines.conference.trees import DELAY_BOUND_MS

_DRAWS = 2000
_PARTIES = 6


def _ring() -> NDArray[np.float64]:
    rates = np.zeros((4, 4))
    rates[0, 1:] = rates[2, 1] = rates[3, 2] = rates[1, 3] = 1.0
    return rates


def _ring_bound() -> float:
    return _rate(_ring())[0]


def _ring_trees() -> float:
    rates = _ring()
    return float(packed_rate(0, rates, np.where(rates > 0.0, 0.0, math.inf)).allocation.session_kbps()[0])


def _concavity() -> float:
    return max(0.5 * (_rate(one)[0] + _rate(other)[0]) - _rate(0.5 * (one + other))[0] for one, other in _pairs())


def _subgradient() -> float:
    excess = 0.0
    for one, other in _pairs():
        rate, cut = _rate(one)
        excess = max(excess, _rate(other)[0] - rate - float((other - one)[cut].sum()))
    return excess


def _delay_bound() -> float:
    delay_ms = np.array([[math.inf, 150.0, 100.0], [math.inf, math.inf, 60.0], [math.inf] * 3])
    return float(min_cut(0, 2, np.ones(3, bool), np.ones((3, 3)), delay_ms, DELAY_BOUND_MS))


def _rate(rates: NDArray[np.float64]) -> tuple[float, NDArray[np.bool_]]:
    """Return the min-cut of party 0 without delays, and its critical cut."""
    cut = np.zeros(rates.shape, bool)
    return float(session_rate(0, np.ones(len(rates), bool), rates, np.zeros(rates.shape), DELAY_BOUND_MS, cut)), cut


def _pairs() -> NDArray[np.float64]:
    """Return random link rates, (_DRAWS, 2, P, P)."""
    return np.random.default_rng(0).uniform(0.0, 1.0, (_DRAWS, 2, _PARTIES, _PARTIES))


FORMULAS: dict[str, Callable[[], float]] = {
    "ring_bound": _ring_bound, "ring_trees": _ring_trees, "concavity": _concavity, "subgradient": _subgradient, "delay_bound": _delay_bound,
}  # fmt: skip
