"""Random: every path is equally likely at every decision. The lower bound for any useful rule."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.rng import POLICY, stream_key, uniform
from vcgym.network.kernels.slots import slot_at


@record
class Call:
    key: np.uint64 = np.uint64(0)  # of the random stream
    paths: int = 0


@rule(Control.PATH, learns=False, call=Call)
class RandomPath(NamedTuple):
    def init(self, call, start, key):
        call.key = stream_key(key, 0, POLICY)
        call.paths = start.mean_ms.size

    def decide(self, call, now_us):
        return int(uniform(call.key, slot_at(now_us)) * call.paths)
