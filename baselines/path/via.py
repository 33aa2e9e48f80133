"""Via (Jiang et al., SIGCOMM 2016), deciding per packet as in VCRoute's comparison (arXiv 2310.05054).

Stage 2 keeps the paths that history does not rule out (`top_k.py`). Stage 3 chooses among them by UCB1 on cost, the smallest index first:

    index(r) = mean cost(r) / w - sqrt(c ln(T) / n(r)),    w = mean over the candidates of their upper bounds

Normalising by w instead of the observed range limits the effect of outliers. n(r) is the number of packets assigned to r and T their sum,
without this packet, so every candidate is tried once, in order, before the index is used. The code compares the index in ms, w times the
above. With probability `epsilon` a packet uses a random path, including ruled-out ones ("general exploration").

Feedback is late: n(r) counts at the decision, the mean cost covers the packets fed back so far, and a path without feedback uses its
historical mean (w if it has none). The cost is the one-way delay of media packets, late or not; a lost packet has no record and no cost.
Probe replies are not rewards, since no decision sent them. When the candidates are chosen again, w is recomputed; counts and costs stay.
Left out: the relaying budget, and prediction of unmeasured paths. The code published with VCRoute differs: it keeps the paths of
`top_k.PUBLISHED`, takes its history from the start of the same series that it then plays, and rewards the true delay at send time.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.path.top_k import Bounds, Candidates, TopK, has_converged, mean_bound, refresh, start_candidates, watch
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import POLICY, stream_key, uniform
from vcgym.network.kernels.slots import slot_at


@record
class Call:
    decided: int = 0  # T
    scale_ms: float = 0.0  # w
    key: np.uint64 = np.uint64(0)
    candidates: Candidates = Candidates()


@record
class Arm:
    decided: int = 0  # n
    exploration_scale: float = 0.0  # 1 / sqrt(n)
    received: int = 0  # packets fed back
    cost_ms: float = 0.0  # sum over the packets fed back
    mean_ms: float = 0.0  # their mean, or its substitute
    bounds: Bounds = Bounds()


@rule(Control.PATH, call=Call, arms=Rows(Arm), shortlist=Rows(np.int64))
class Via(NamedTuple):
    ucb_c: Annotated[float, (0.0, math.inf)] = 2.0  # exploration width; 2 in the code published with VCRoute, reportedly 0.1 in Via itself
    epsilon: Annotated[float, (0.0, 1.0)] = 0.0  # probability of a random path
    scale_without_history_ms: Annotated[float, (1e-3, 1e6)] = 100.0  # w when no candidate has an upper bound; ours
    topk: TopK = TopK()

    def init(self, call, arms, shortlist, start, key):
        start_candidates(self.topk, call.candidates, arms, shortlist, start)
        call.scale_ms = _scale_ms(self, arms)
        call.key = stream_key(key, 0, POLICY)
        for path in range(arms.size):
            arms[path].mean_ms = start.mean_ms[path] if start.samples[path] > 0 else call.scale_ms

    def update(self, call, arms, shortlist, record):
        if has_converged(self.topk, call.candidates):
            return
        arm = arms[record.path]
        delay_ms = (record.arrived_us - record.sent_us) / 1000.0
        watch(self.topk, arm.bounds, delay_ms)
        if record.kind == MEDIA:
            arm.received += 1
            arm.cost_ms += delay_ms
            arm.mean_ms = arm.cost_ms / arm.received

    def decide(self, call, arms, shortlist, now_us):
        slot = slot_at(now_us)
        if refresh(self.topk, call.candidates, arms, shortlist, now_us):
            call.scale_ms = _scale_ms(self, arms)
        if self.epsilon > 0.0 and uniform(call.key, 2 * slot) < self.epsilon:
            path = np.int64(uniform(call.key, 2 * slot + 1) * arms.size)
        elif has_converged(self.topk, call.candidates):
            return shortlist[0]
        else:
            path = _lowest_index(self, call, arms, shortlist)
        arm = arms[path]
        arm.decided += 1
        arm.exploration_scale = 1.0 / math.sqrt(arm.decided)
        call.decided += 1
        return path


@kernel
def _scale_ms(params, arms):
    """Return w; the default if no candidate has an upper bound, or if w is not positive."""
    scale_ms = mean_bound(arms, 1)
    return scale_ms if scale_ms > 0.0 else params.scale_without_history_ms


@kernel
def width(scale, decided, ucb_c):
    """Return w sqrt(c ln T), the exploration bonus of an arm chosen once; `decided` >= 1 is T."""
    return scale * math.sqrt(ucb_c * math.log(decided))


@kernel
def _lowest_index(params, call, arms, shortlist):
    """Return the candidate with the smallest index, the lowest path on ties; a path never chosen comes first."""
    width_ms = width(call.scale_ms, max(1, call.decided), params.ucb_c)
    best, best_ms = np.int64(-1), math.inf
    for path in shortlist[: call.candidates.count]:
        # Its index would be -inf.
        if arms[path].decided == 0:
            return path
        index_ms = arms[path].mean_ms - width_ms * arms[path].exploration_scale
        if best < 0 or index_ms < best_ms:
            best, best_ms = path, index_ms
    return best
