"""VCRoute rewarded with the true delay at once: the limit of its sampling without late feedback and prediction. An oracle.

It equals VCRoute (`vcroute.py`) except for the reward: as a packet leaves, the belief about its path is updated with its true one-way
delay, or with `loss_reward_ms` if it will be lost (by default not at all). The code published with VCRoute uses this reward plus the
receiver's current target, which is the same for every path.
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.path.top_k import refresh, watch
from vcgym.baselines.path.vcroute.screening import lowest_draw
from vcgym.baselines.path.vcroute.vcroute import PARTS, VCRoute, begin, learn, require_predicted
from vcgym.baselines.rule import Control, rule
from vcgym.network.kernels.slots import slot_at


@rule(Control.PATH, oracle=True, **PARTS)
class OracleVCRoute(NamedTuple):
    loss_reward_ms: Annotated[float, (0.0, 1e6)] = 0.0  # 0: lost packets are ignored
    route: VCRoute = VCRoute()

    def check(self):
        require_predicted(self.route)

    def init(self, call, arms, shortlist, upper, passes, start, key):
        begin(self.route, call, arms, shortlist, start, key)

    def update(self, call, arms, shortlist, upper, passes, record):
        watch(self.route.topk, arms[record.path].bounds, (record.arrived_us - record.sent_us) / 1000.0)

    def decide(self, call, arms, shortlist, upper, passes, now_us):
        refresh(self.route.topk, call.candidates, arms, shortlist, now_us)
        return lowest_draw(call, arms, shortlist, upper, passes, slot_at(now_us))

    def reveal_delay(self, call, arms, shortlist, upper, passes, path, delay_us):
        if delay_us >= 0:
            learn(self.route, call, arms, upper, path, delay_us / 1000.0)
        elif self.loss_reward_ms > 0.0:
            learn(self.route, call, arms, upper, path, self.loss_reward_ms)
