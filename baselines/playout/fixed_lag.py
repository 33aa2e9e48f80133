"""Fixed lag: a watermark at a constant distance behind the newest packet."""

from typing import Annotated, NamedTuple

from vcgym.baselines.rule import Control, rule
from vcgym.network.kernels.slots import microseconds


@rule(Control.PLAYOUT, learns=False)
class FixedLag(NamedTuple):
    lag_ms: Annotated[float, (0.0, 1e4)]

    def decide(self, now_us):
        return microseconds(self.lag_ms)
