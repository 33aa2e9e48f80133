"""Fixed target: a count buffer of constant size, the textbook jitter buffer (Fig. 3 of arXiv 2310.05054)."""

from typing import Annotated, NamedTuple

from vcgym.baselines.rule import Control, rule
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT


@rule(Control.PLAYOUT, buffer=COUNT, learns=False)
class CountTarget(NamedTuple):
    target_ms: Annotated[float, (0.0, 1e4)]

    def decide(self, now_us):
        return microseconds(self.target_ms)
