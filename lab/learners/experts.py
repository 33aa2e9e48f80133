"""A hedged lag from lags that were learned apart, with the declared weights of its experts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.hedged_lag import HedgedLag
from vcgym.agents.controllers.learned_lag import LearnedLag

FIRST, QUANTILES = 0.4, (0.15, 0.15, 0.10)
"""Prior of the first network and of the running quantiles; the other networks share the rest."""
SPECIALIST = 0.02
"""Prior of a specialist, beside those: enough where it is ahead by points of R, and next to nothing elsewhere."""
TEMPERATURE = 0.07  # points of R: an expert that is better by this much in a minute has e times the weight at its end


def hedged(lags: Sequence[LearnedLag], specialists: Sequence[LearnedLag] = ()) -> HedgedLag:
    """Return the lag whose experts are at least two networks, the first with the largest prior, specialists and the running quantiles."""
    networks = [*lags, *specialists]
    hidden = max(lag.last.size - 1 for lag in networks)
    others = (1.0 - FIRST - sum(QUANTILES)) / (len(lags) - 1)
    prior = np.array([FIRST, *[others] * (len(lags) - 1), *[SPECIALIST] * len(specialists), *QUANTILES])
    first, second, last = (np.stack(layers) for layers in zip(*(_widened(lag, hidden) for lag in networks), strict=True))
    return HedgedLag(first, second, last, prior, TEMPERATURE)


def _widened(lag: LearnedLag, hidden: int) -> tuple[NDArray[np.float32], ...]:
    """Return the layers with `hidden` units; the new ones have weights of 0, so that the output is the same."""
    more = hidden - (lag.last.size - 1)
    first = np.pad(lag.first, ((0, 0), (0, more)))
    second = np.insert(np.pad(lag.second, ((0, 0), (0, more))), [-1] * more, 0.0, axis=0)
    return first, second, np.insert(lag.last, [-1] * more, 0.0)
