"""Best history: for the whole call, the path that was fastest on average before the call. Routing without feedback."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, record, rule


@record
class Call:
    path: int = 0  # the direct one without any history


@rule(Control.PATH, learns=False, call=Call)
class BestHistory(NamedTuple):
    def init(self, call, start, key):
        # A path without history is never preferred to one with history.
        best_ms = np.inf
        for path in range(start.mean_ms.size):
            if start.samples[path] > 0 and start.mean_ms[path] < best_ms:
                best_ms = start.mean_ms[path]
                call.path = path

    def decide(self, call, now_us):
        return call.path
