"""BF: the NetEQ-like adaptive target to which WMJitter is compared (arXiv 2310.05054), as in its published code.

A hybrid of two generations of NetEQ: 10-ms buckets, 0.95 quantile, forget factor 0.983 with start weight 2, no resampling, and one
histogram for packets in and out of order, with a cost of 20 ms of delay per percent of loss. This is CalculateLag (`wmjitter.py`) with
another loss cost, updated on late packets too, clamped to [10, 1500] ms and applied to a count buffer instead of a watermark. The level
starts at NetEQ's 80 ms.

Left out: the code's maximum delay of 4000 ms, which 100 buckets of 10 ms cannot reach, and its order of emitting before inserting (our
count buffer inserts first, so that the steady-state wait equals the target).
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.playout.wmjitter import Edge, Lag, Memory, calculate_lag, start_lag
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, rule
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT


@rule(Control.PLAYOUT, buffer=COUNT, lag=Lag)
class NetEqTarget(NamedTuple):
    bucket_ms: Annotated[float, (0.001, 1000.0)] = 10.0
    quantile: Annotated[float, (0.0, 1.0)] = 0.95
    ms_per_loss_percent: Annotated[float, (0.0, 1e4)] = 20.0
    forget_factor: Annotated[float, (0.0, 1.0)] = 0.983
    start_weight: Annotated[int, (1, 1000)] = 2
    edge: Edge = Edge.UPPER
    memory: Memory = Memory.FORGETTING
    start_target_ms: Annotated[float, (0.0, 1e4)] = 80.0
    min_target_ms: Annotated[float, (0.0, 1e4)] = 10.0
    max_target_ms: Annotated[float, (0.0, 1e4)] = 1500.0

    def check(self) -> None:
        """Reject a maximum below the minimum."""
        require_within(self, max_target_ms=(self.min_target_ms, 1e4))

    def init(self, lag, start, key):
        start_lag(self, lag, microseconds(self.start_target_ms))

    def update(self, lag, record):
        if record.kind == MEDIA:
            calculate_lag(self, lag, record.sent_us, record.arrived_us)

    def decide(self, lag, now_us):
        return min(max(lag.lag_us, microseconds(self.min_target_ms)), microseconds(self.max_target_ms))
