"""A constant target bitrate, independent of reports."""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, rule


@rule(Control.RATE, learns=False)
class FixedRate(NamedTuple):
    """Parameters."""

    rate_kbps: Annotated[float, (1.0, 1e6)] = 1000.0

    def decide(self, now_us):
        return np.int64(self.rate_kbps * 1000.0)
