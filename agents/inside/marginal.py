"""Reward of what a tick changes in the score of its call: R of ITU-T G.107, linear around the call as it was last played.

R is a function of a call's totals: the mean offset and the concealed share of its ticks. Its derivatives at the totals of the last playing of
the same world are prices of a millisecond and of a concealed tick, so that, to first order, the rewards of a call add up to the change of
its R. With fixed prices (`vcgym.envs.call.rewards.emodel`) a learner would pay for the first concealed tick of a call as for the hundredth,
which costs less, because Ie_eff is concave.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.counters import Totals
from vcgym.envs.call.rewards.reward import PATHS, earned, reward
from vcgym.network.playout.quality import (
    BPL_G711_CONCEALED,
    IE_MAX,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
)  # fmt: skip

COLUMNS = 5
OFFSET_MS, SHARE, PER_MS, PER_SHARE, TICKS = range(COLUMNS)


@reward(PATHS)
class Marginal(NamedTuple):
    """Reward from the change of R; in points of R."""

    around: NDArray[np.float64]  # (sessions, COLUMNS): mean offset (ms), concealed share, the prices of both, and ticks, of the last playing


def around(totals: Totals) -> NDArray[np.float64]:
    """Return the totals and prices of calls as they were played (sessions, COLUMNS)."""
    ticks = np.maximum(totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed, 1)
    offset_ms, share = totals.offset_us_sum / ticks / 1000.0, totals.ticks_concealed / ticks
    per_ms = REDUCED_SLOPE_PER_MS + REDUCED_KNEE_SLOPE_PER_MS * (offset_ms > REDUCED_KNEE_MS)
    per_share = 100.0 * IE_MAX * BPL_G711_CONCEALED / (100.0 * share + BPL_G711_CONCEALED) ** 2
    return np.stack([offset_ms, share, per_ms, per_share, ticks], axis=1)


@earned.register(Marginal)
def _earned(reward, state, accounts, s):
    counters, before, at = accounts.calls[s].counters, state[s], reward.around[s]
    ticks = counters.ticks_played + counters.ticks_stretched + counters.ticks_concealed
    new = ticks - before[0]
    delay_ms = (counters.offset_us_sum - before[1]) / 1000.0 - at[OFFSET_MS] * new
    concealed = counters.ticks_concealed - before[2] - at[SHARE] * new
    before[0], before[1], before[2] = ticks, counters.offset_us_sum, counters.ticks_concealed
    return -(at[PER_MS] * delay_ms + at[PER_SHARE] * concealed) / at[TICKS]
