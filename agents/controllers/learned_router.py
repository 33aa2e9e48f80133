"""A learned router: a cost per path, with prices found by search on the true score of calls.

The cost of a path depends on its historical mean h, the excess e of its newest fed-back delays over h, and the age of that feedback:

    shared   = minimum excess over the paths with fresh feedback, at least 0
    excess   = e 2^-(age / half life), and at least guard x shared if that is above 0
    cost     = h + max(0, 1 + a + r rough) excess + b deviation + c percent missing in the history + d sd of the history
               + f percent missing in the call
    cost     = h + u sd + c percent missing in the history                of a path without feedback
    change from path i to the path j of minimum cost if
    cost_j + margin + m shared + n rough + g max(0, delay_j - delay_i - bridge x lag) < cost_i

The shared excess distinguishes a bad access link from a bad relay: without the guard, paths without recent feedback look good although no
change helps. The lag last reported by the receiver is the delay step that its player can bridge on a change to a slower path. If delays are
rough (independent from packet to packet, as in mode paper), feedback has little information and is smoothed more. Silence of the path in
use counts as missing packets until a probe gets through. Each price has two values, below and above the knee of the delay impairment
(177.3 ms), blended by the mean delay of the call.

Our own formulation; `lab.learners.price_search` finds the prices. They apply to any number of paths, in any order.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.quality import REDUCED_KNEE_MS
from vcgym.network.worlds.world import HISTORY_BLOCKS

TWICE = (
    "log_half_life_ms",  # of the excess; natural logarithm
    "excess",  # a, ms per ms
    "deviation",  # b, ms per ms
    "missing_history",  # c, ms per percent
    "sd_history",  # d, ms per ms
    "unheard_sd",  # u, ms per ms
    "margin_ms",
    "slower",  # g, ms per ms
    "missing_call",  # f, ms per percent
    "guard",  # share of the shared excess
    "margin_shared",  # m, ms per ms
)
ONCE = (
    "log_smoothing_ms",  # memory of the excess; `smoothing_rough` extends it
    "log_deviation_ms",  # memory of the deviation
    "log_blend_ms",  # width of the blend of the two sets of prices
    "blend_from_ms",  # centre of the blend, above the knee
    "log_fresh_ms",  # maximum age of fresh feedback
    "bridge",  # share of the lag
    "smoothing_rough",
    "excess_rough",  # r, ms per ms
    "margin_rough_ms",  # n
)
NUMBERS = 2 * len(TWICE) + len(ONCE)
(HALF_LIFE, EXCESS, DEVIATION, MISSING_HISTORY, SD_HISTORY, UNHEARD, MARGIN, SLOWER, MISSING_CALL, GUARD, SHARED) = range(len(TWICE))
(SMOOTHING, MEMORY, BLEND, BLEND_FROM, FRESH, BRIDGE, SMOOTHING_ROUGH, EXCESS_ROUGH, MARGIN_ROUGH) = range(2 * len(TWICE), NUMBERS)
ROUGHNESS = (SMOOTHING_ROUGH, EXCESS_ROUGH, MARGIN_ROUGH)
"""Prices without effect where delays follow each other smoothly."""
START = np.array(
    [
        *(math.log(3000.0), 0.2, 0.5, 15.0, 0.2, 1.0, 20.0, 0.5, 5.0, 0.5, 0.0),
        *(math.log(1000.0), 0.2, 0.5, 15.0, 0.2, 1.0, 10.0, 0.2, 5.0, 0.5, 0.0),
        *(math.log(30.0), math.log(1000.0), math.log(20.0), 0.0, math.log(650.0), 0.2, 4.0, -0.8, 20.0),
    ]
)
"""Prices set by hand, which a search starts from."""
_SCALE_TWICE = [0.5, 0.2, 0.4, 8.0, 0.2, 0.5, 8.0, 0.2, 3.0, 0.3, 0.2]
SCALE = np.array([*_SCALE_TWICE, *_SCALE_TWICE, 0.5, 0.5, 0.3, 10.0, 0.5, 0.2, 0.5, 0.5, 40.0])
"""Step of each price that a search begins with, declared."""
MEAN_PACKETS = 100  # prior weight of the call's mean delay, in packets
MISSING_PACKETS = 200.0  # memory of the share missing in the call
ROUGH_PACKETS = 100.0  # memory of the roughness
SMOOTH, ROUGH = 0.4, 1.2  # mean step from packet to packet / mean deviation: 0.32 if correlated over 200 ms, 1.41 if independent
SILENCE_MS = 300.0  # packets count as missing after this time plus twice the path's delay without feedback
PROBED = 0.7  # factor on the share missing when a probe gets through


@rule(Control.PATH, learned=True)
class LearnedRouter(NamedTuple):
    """Parameters."""

    prices: NDArray[np.float64]  # (NUMBERS,): TWICE below the knee, TWICE above it, ONCE


CALL = np.dtype(
    (
        np.record,
        [
            ("path", "i8"),  # in use; -1 before the first decision
            ("sum_ms", "f8"),  # sum of the delays of media packets
            ("packets", "f8"),  # number of media packets
            ("newest", "i8"),  # newest media packet
            ("lag_ms", "f8"),  # reported with it
            ("news_us", "i8"),  # last media feedback or change of path
            ("delay_ms", "f8"),  # delay of the newest packet
            ("mean_ms", "f8"),  # mean delay of the last packets
            ("step_ms", "f8"),  # mean step from packet to packet
            ("spread_ms", "f8"),  # mean deviation
        ],
    )
)
ARM = np.dtype(
    (
        np.record,
        [
            ("usual_ms", "f8"),  # h
            ("sd_ms", "f8"),
            ("missing", "f8"),  # percent missing in the history
            ("excess_ms", "f8"),  # e
            ("deviation_ms", "f8"),
            ("missing_call", "f8"),  # percent missing in the call, recently
            ("sent_us", "i8"),  # sent time of the newest packet with feedback; -1 before the first
            ("packet", "i8"),  # newest media packet with feedback; -1 before the first
            ("expected_ms", "f8"),  # excess at the last decision
            ("cost_ms", "f8"),
        ],
    )
)


class LearnedRouterState(NamedTuple):
    """State; the first axis is the session."""

    call: np.recarray  # (sessions,) dtype CALL
    arm: np.recarray  # (sessions, paths) dtype ARM


@allocate.register(LearnedRouter)
def _allocate(params, sessions, paths):
    if params.prices.shape != (NUMBERS,) or not np.isfinite(params.prices).all():
        raise ValueError(f"prices = {params.prices}: allowed are {NUMBERS} finite numbers")
    return LearnedRouterState(np.zeros(sessions, CALL).view(np.recarray), np.zeros((sessions, paths), ARM).view(np.recarray))


@init.register(LearnedRouter)
def _init(params, state, s, start, key):
    call = state.call[s]
    call.path = -1
    call.packets = MEAN_PACKETS
    call.newest = -1
    call.lag_ms = 0.0
    call.news_us = 0
    call.delay_ms = 0.0
    call.mean_ms = 0.0
    call.step_ms = 0.0
    call.spread_ms = 1.0
    mean_ms = imputed_means(start)
    call.sum_ms = MEAN_PACKETS * mean_ms.min()
    for path in range(mean_ms.size):
        arm = state.arm[s, path]
        arm.usual_ms = mean_ms[path]
        arm.sd_ms = start.sd_ms[path]
        arm.missing = 100.0 * max(0.0, 1.0 - start.samples[path] / (HISTORY_BLOCKS * BLOCK_SLOTS))
        arm.excess_ms = 0.0
        arm.deviation_ms = 0.0
        arm.missing_call = 0.0
        arm.expected_ms = 0.0
        arm.sent_us = -1
        arm.packet = -1


@update.register(LearnedRouter)
def _update(params, state, s, record):
    arm, call = state.arm[s, record.path], state.call[s]
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    if record.kind == MEDIA:
        call.sum_ms += delay_ms
        call.packets += 1.0
        _take_news(call, arm, record, delay_ms)
    else:
        arm.missing_call *= PROBED
    since_us = record.sent_us - arm.sent_us
    if since_us <= 0:
        return
    excess_ms = delay_ms - arm.usual_ms
    first = arm.sent_us < 0
    prices = params.prices
    smoothing = prices[SMOOTHING] + prices[SMOOTHING_ROUGH] * _roughness(call)
    weight = 1.0 if first else 1.0 - math.exp(-since_us / 1000.0 * math.exp(-smoothing))
    slow = 0.0 if first else 1.0 - math.exp(-since_us / 1000.0 * math.exp(-prices[MEMORY]))
    arm.deviation_ms += slow * (abs(excess_ms - arm.excess_ms) - arm.deviation_ms)
    arm.excess_ms += weight * (excess_ms - arm.excess_ms)
    arm.sent_us = record.sent_us


@kernel
def _take_news(call, arm, record, delay_ms):
    """Update with the newest media packet: its lag, the packets missing before it if all took this path, and its step of delay."""
    if record.packet <= call.newest:
        return
    if arm.packet >= 0 and call.newest == arm.packet:
        keep = 1.0 - 1.0 / MISSING_PACKETS
        arm.missing_call = min(100.0, arm.missing_call * keep + 100.0 * min(record.packet - call.newest - 1, 20) / MISSING_PACKETS)
        weight = 1.0 / ROUGH_PACKETS
        call.step_ms += weight * (abs(delay_ms - call.delay_ms) - call.step_ms)
        call.spread_ms += weight * (abs(delay_ms - call.mean_ms) - call.spread_ms)
        call.mean_ms += weight * (delay_ms - call.mean_ms)
    else:
        call.mean_ms = delay_ms
    call.delay_ms = delay_ms
    call.newest = record.packet
    call.lag_ms = record.lag_us / 1000.0
    call.news_us = record.known_us
    arm.packet = record.packet


@kernel
def _roughness(call):
    """Return 0 for smooth (correlated) delays and 1 for independent ones."""
    return min(max((call.step_ms / call.spread_ms - SMOOTH) / (ROUGH - SMOOTH), 0.0), 1.0)


@kernel
def _count_silence(call, arm, now_us):
    """Count the packet of this slot as missing after a long time without feedback."""
    silent_ms = (now_us - call.news_us) / 1000.0 - SILENCE_MS - 2.0 * (arm.usual_ms + max(arm.expected_ms, 0.0))
    if silent_ms > 0.0:
        arm.missing_call += (100.0 - arm.missing_call) / MISSING_PACKETS


@decide.register(LearnedRouter)
def _decide(params, state, s, now_us):
    call, prices = state.call[s], params.prices
    best, blend, shared_ms, rough = appraise(prices, call, state.arm[s], now_us)
    if call.path < 0:
        call.path = best
    elif best != call.path:
        other, current = state.arm[s, best], state.arm[s, call.path]
        slower_ms = other.usual_ms + other.expected_ms - current.usual_ms - current.expected_ms - prices[BRIDGE] * call.lag_ms
        price_ms = _blended(prices, MARGIN, blend) + _blended(prices, SLOWER, blend) * max(0.0, slower_ms)
        price_ms += _blended(prices, SHARED, blend) * shared_ms + prices[MARGIN_ROUGH] * rough
        if other.cost_ms + price_ms < current.cost_ms:
            call.path = best
            call.news_us = now_us
    return call.path


@kernel
def appraise(prices, call, arms, now_us):
    """Count silence, and set the cost of each path.

    Args:
        prices: float64 (NUMBERS,).
        call: record of CALL.
        arms: (paths,) of ARM; expected excess and cost are written.
        now_us: int64, time of the decision.

    Returns:
        The path of minimum cost, the blend of the two sets of prices (0 to 1), the shared excess (ms) and the roughness (0 to 1).
    """
    above = (call.sum_ms / call.packets - REDUCED_KNEE_MS - prices[BLEND_FROM]) * math.exp(-prices[BLEND])
    blend = 1.0 / (1.0 + math.exp(-min(max(above, -30.0), 30.0)))
    shared_ms = max(0.0, _least_fresh(arms, now_us, 1000.0 * math.exp(prices[FRESH])))
    rough = _roughness(call)
    if call.path >= 0:
        _count_silence(call, arms[call.path], now_us)
    return _costs(prices, arms, blend, now_us, shared_ms, rough), blend, shared_ms, rough


@kernel
def _blended(prices, which, blend):
    return prices[which] + blend * (prices[len(TWICE) + which] - prices[which])


@kernel
def _costs(prices, arms, blend, now_us, shared_ms, rough):
    """Set the expected excess and the cost of each path; return the path of minimum cost."""
    by_excess = max(0.0, 1.0 + _blended(prices, EXCESS, blend) + prices[EXCESS_ROUGH] * rough)
    by_deviation = _blended(prices, DEVIATION, blend)
    by_missing, by_sd = _blended(prices, MISSING_HISTORY, blend), _blended(prices, SD_HISTORY, blend)
    by_unheard, by_call = _blended(prices, UNHEARD, blend), _blended(prices, MISSING_CALL, blend)
    rate = math.log(2.0) / 1000.0 * math.exp(-_blended(prices, HALF_LIFE, blend))
    floor_ms = _blended(prices, GUARD, blend) * shared_ms
    best, best_ms = np.int64(0), math.inf
    for path in range(arms.size):
        arm = arms[path]
        heard = arm.sent_us >= 0
        fade = math.exp(-rate * (now_us - arm.sent_us)) if heard else 0.0
        arm.expected_ms = max(arm.excess_ms * fade, floor_ms) if floor_ms > 0.0 else arm.excess_ms * fade
        spread_ms = by_deviation * arm.deviation_ms + by_sd * arm.sd_ms if heard else by_unheard * arm.sd_ms
        arm.cost_ms = arm.usual_ms + by_excess * arm.expected_ms + spread_ms + by_missing * arm.missing + by_call * arm.missing_call
        if arm.cost_ms < best_ms:
            best, best_ms = np.int64(path), arm.cost_ms
    return best


@kernel
def _least_fresh(arms, now_us, fresh_us):
    """Return the minimum excess (ms) of the paths with feedback within `fresh_us`, or 0 if there is none."""
    min_ms = math.inf
    for path in range(arms.size):
        if arms[path].sent_us >= 0 and now_us - arms[path].sent_us < fresh_us:
            min_ms = min(min_ms, arms[path].excess_ms)
    return min_ms if min_ms < math.inf else 0.0
