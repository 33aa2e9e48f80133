"""BF: the NetEQ-like adaptive target to which WMJitter is compared (arXiv 2310.05054), as in its published code.

A hybrid of two generations of NetEQ: 10-ms buckets, 0.95 quantile, forget factor 0.983 with start weight 2, no resampling, and one
histogram for packets in and out of order, with a cost of 20 ms of delay per percent of loss. This is CalculateLag (`wmjitter.py`) with
another loss cost, updated on late packets too, clamped to [10, 1500] ms and applied to a count buffer instead of a watermark. The level
starts at NetEQ's 80 ms.

Left out: the code's maximum delay of 4000 ms, which 100 buckets of 10 ms cannot reach, and its order of emitting before inserting (our
count buffer inserts first, so that the steady-state wait equals the target).
"""

from typing import NamedTuple

from vcgym.baselines.playout.wmjitter import Edge, Memory, allocate_lag, calculate_lag, reset_lag
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT


@rule(Control.PLAYOUT, buffer=COUNT)
class NetEqTarget(NamedTuple):
    """Parameters."""

    bucket_ms: float = 10.0
    quantile: float = 0.95
    ms_per_loss_percent: float = 20.0
    forget_factor: float = 0.983
    start_weight: int = 2
    edge: Edge = Edge.UPPER
    memory: Memory = Memory.FORGETTING
    start_target_ms: float = 80.0
    min_target_ms: float = 10.0
    max_target_ms: float = 1500.0


@allocate.register(NetEqTarget)
def _allocate(params, sessions, paths):
    require_within(params, start_target_ms=(0.0, 1e4), min_target_ms=(0.0, 1e4), max_target_ms=(params.min_target_ms, 1e4))
    return allocate_lag(params, sessions)


@init.register(NetEqTarget)
def _init(params, state, s, start, key):
    reset_lag(params, state[s], microseconds(params.start_target_ms))


@update.register(NetEqTarget)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        calculate_lag(params, state[s], record.sent_us, record.arrived_us)


@decide.register(NetEqTarget)
def _decide(params, state, s, now_us):
    return min(max(state[s].lag_us, microseconds(params.min_target_ms)), microseconds(params.max_target_ms))
