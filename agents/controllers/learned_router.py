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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.policy import require_numbers
from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.quality import REDUCED_KNEE_MS
from vcgym.network.worlds.world import HISTORY_BLOCKS


class Prices(NamedTuple):
    """Prices that have a value below the knee and one above it."""

    log_half_life_ms: Any  # of the excess; natural logarithm
    excess: Any  # a, ms per ms
    deviation: Any  # b, ms per ms
    missing_history: Any  # c, ms per percent
    sd_history: Any  # d, ms per ms
    sd_unreported: Any  # u, ms per ms
    margin_ms: Any
    slower: Any  # g, ms per ms
    missing_call: Any  # f, ms per percent
    guard: Any  # share of the shared excess
    margin_shared: Any  # m, ms per ms


class Shared(NamedTuple):
    """Prices of both sides of the knee."""

    log_smoothing_ms: Any  # memory of the excess; `smoothing_rough` extends it
    log_deviation_ms: Any  # memory of the deviation
    log_blend_ms: Any  # width of the blend of the two sets of prices
    blend_from_ms: Any  # centre of the blend, above the knee
    log_fresh_ms: Any  # maximum age of fresh feedback
    bridge: Any  # share of the lag
    smoothing_rough: Any
    excess_rough: Any  # r, ms per ms
    margin_rough_ms: Any  # n


BELOW, ABOVE, SHARED = Prices(*range(11)), Prices(*range(11, 22)), Shared(*range(22, 31))
"""Indices of the prices."""
NUMBERS = len(BELOW + ABOVE + SHARED)
START = np.array(
    [
        *Prices(math.log(3000.0), 0.2, 0.5, 15.0, 0.2, 1.0, margin_ms=20.0, slower=0.5, missing_call=5.0, guard=0.5, margin_shared=0.0),
        *Prices(math.log(1000.0), 0.2, 0.5, 15.0, 0.2, 1.0, margin_ms=10.0, slower=0.2, missing_call=5.0, guard=0.5, margin_shared=0.0),
        *(math.log(30.0), math.log(1000.0), math.log(20.0), 0.0, math.log(650.0), 0.2, 4.0, -0.8, 20.0),
    ]
)
"""Prices set by hand, which a search starts from."""
_STEPS = Prices(0.5, 0.2, 0.4, 8.0, 0.2, 0.5, margin_ms=8.0, slower=0.2, missing_call=3.0, guard=0.3, margin_shared=0.2)
SCALE = np.array([*_STEPS, *_STEPS, 0.5, 0.5, 0.3, 10.0, 0.5, 0.2, 0.5, 0.5, 40.0])
"""Step of each price that a search begins with, declared."""
MEAN_PACKETS = 100  # prior weight of the call's mean delay, in packets
MISSING_PACKETS = 200.0  # memory of the share missing in the call
ROUGH_PACKETS = 100.0  # memory of the roughness
SMOOTH, ROUGH = 0.4, 1.2  # mean step from packet to packet / mean deviation: 0.32 if correlated over 200 ms, 1.41 if independent
SILENCE_MS = 300.0  # packets count as missing after this time plus twice the path's delay without feedback
PROBED = 0.7  # factor on the share missing when a probe gets through


@record
class Call:
    """State of a call."""

    path: int = -1  # in use; -1 before the first decision
    sum_ms: float = 0.0  # sum of the delays of media packets
    packets: float = float(MEAN_PACKETS)  # number of media packets
    newest: int = -1  # newest media packet
    lag_ms: float = 0.0  # reported with it
    news_us: int = 0  # last media feedback or change of path
    delay_ms: float = 0.0  # delay of the newest packet
    mean_ms: float = 0.0  # mean delay of the last packets
    step_ms: float = 0.0  # mean step from packet to packet
    spread_ms: float = 1.0  # mean deviation


@record
class Arm:
    """State of a path."""

    usual_ms: float = 0.0  # h
    sd_ms: float = 0.0
    missing: float = 0.0  # percent missing in the history
    excess_ms: float = 0.0  # e
    deviation_ms: float = 0.0
    missing_call: float = 0.0  # percent missing in the call, recently
    sent_us: int = -1  # sent time of the newest packet with feedback; -1 before the first
    packet: int = -1  # newest media packet with feedback; -1 before the first
    expected_ms: float = 0.0  # excess at the last decision
    cost_ms: float = 0.0


@rule(Control.PATH, learned=True, call=Call, arms=Rows(Arm))
class LearnedRouter(NamedTuple):
    """Parameters."""

    prices: NDArray[np.float64]  # (NUMBERS,): `Prices` below the knee, those above it, `Shared`

    def check(self):
        require_numbers("prices", self.prices, NUMBERS)

    def init(self, call, arms, start, key):
        begin_paths(call, arms, start)

    def update(self, call, arms, record):
        learn(self.prices, call, arms, record)

    def decide(self, call, arms, now_us):
        return change_path(self.prices, call, arms, now_us)


@allocating_kernel
def begin_paths(call, arms, start):
    """Set what a call knows of its paths before it starts.

    Args:
        call: Call, updated.
        arms: (paths,) of Arm, updated.
        start: PathHistory.
    """
    mean_ms = imputed_means(start)
    call.sum_ms = MEAN_PACKETS * mean_ms.min()
    for path in range(mean_ms.size):
        arms[path].usual_ms = mean_ms[path]
        arms[path].sd_ms = start.sd_ms[path]
        arms[path].missing = 100.0 * max(0.0, 1.0 - start.samples[path] / (HISTORY_BLOCKS * BLOCK_SLOTS))


@kernel
def learn(prices, call, arms, record):
    """Learn from a record, as `update` does."""
    arm = arms[record.path]
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
    smoothing = prices[SHARED.log_smoothing_ms] + prices[SHARED.smoothing_rough] * _roughness(call)
    weight = 1.0 if first else 1.0 - math.exp(-since_us / 1000.0 * math.exp(-smoothing))
    slow = 0.0 if first else 1.0 - math.exp(-since_us / 1000.0 * math.exp(-prices[SHARED.log_deviation_ms]))
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


@kernel
def change_path(prices, call, arms, now_us):
    """Return the path from now on, as `decide` does."""
    best, blend, shared_ms, rough = path_costs(prices, call, arms, now_us)
    if call.path < 0:
        call.path = best
    elif best != call.path:
        other, current = arms[best], arms[call.path]
        slower_ms = other.usual_ms + other.expected_ms - current.usual_ms - current.expected_ms - prices[SHARED.bridge] * call.lag_ms
        price_ms = _blended(prices, BELOW.margin_ms, blend) + _blended(prices, BELOW.slower, blend) * max(0.0, slower_ms)
        price_ms += _blended(prices, BELOW.margin_shared, blend) * shared_ms + prices[SHARED.margin_rough_ms] * rough
        if other.cost_ms + price_ms < current.cost_ms:
            call.path = best
            call.news_us = now_us
    return call.path


@kernel
def path_costs(prices, call, arms, now_us):
    """Count silence, and set the cost of each path.

    Args:
        prices: float64 (NUMBERS,).
        call: Call.
        arms: (paths,) of Arm; expected excess and cost are written.
        now_us: int64, time of the decision.

    Returns:
        The path of minimum cost, the blend of the two sets of prices (0 to 1), the shared excess (ms) and the roughness (0 to 1).
    """
    above = (call.sum_ms / call.packets - REDUCED_KNEE_MS - prices[SHARED.blend_from_ms]) * math.exp(-prices[SHARED.log_blend_ms])
    blend = 1.0 / (1.0 + math.exp(-min(max(above, -30.0), 30.0)))
    shared_ms = max(0.0, _least_fresh(arms, now_us, 1000.0 * math.exp(prices[SHARED.log_fresh_ms])))
    rough = _roughness(call)
    if call.path >= 0:
        _count_silence(call, arms[call.path], now_us)
    return _costs(prices, arms, blend, now_us, shared_ms, rough), blend, shared_ms, rough


@kernel
def _blended(prices, which, blend):
    return prices[which] + blend * (prices[len(BELOW) + which] - prices[which])


@kernel
def _costs(prices, arms, blend, now_us, shared_ms, rough):
    """Set the expected excess and the cost of each path; return the path of minimum cost."""
    by_excess = max(0.0, 1.0 + _blended(prices, BELOW.excess, blend) + prices[SHARED.excess_rough] * rough)
    by_deviation = _blended(prices, BELOW.deviation, blend)
    by_missing, by_sd = _blended(prices, BELOW.missing_history, blend), _blended(prices, BELOW.sd_history, blend)
    by_unreported, by_call = _blended(prices, BELOW.sd_unreported, blend), _blended(prices, BELOW.missing_call, blend)
    rate = math.log(2.0) / 1000.0 * math.exp(-_blended(prices, BELOW.log_half_life_ms, blend))
    floor_ms = _blended(prices, BELOW.guard, blend) * shared_ms
    best, best_ms = np.int64(0), math.inf
    for path in range(arms.size):
        arm = arms[path]
        reported = arm.sent_us >= 0
        fade = math.exp(-rate * (now_us - arm.sent_us)) if reported else 0.0
        arm.expected_ms = max(arm.excess_ms * fade, floor_ms) if floor_ms > 0.0 else arm.excess_ms * fade
        spread_ms = by_deviation * arm.deviation_ms + by_sd * arm.sd_ms if reported else by_unreported * arm.sd_ms
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
