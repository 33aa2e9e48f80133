"""VCRoute rewarded with the true delay at once: the limit of its sampling without late feedback and prediction. An oracle.

It equals VCRoute (`vcroute.py`) except for the reward: as a packet leaves, the belief about its path is updated with its true one-way
delay, or with `loss_reward_ms` if it will be lost (by default not at all). The code published with VCRoute uses this reward plus the
receiver's current target, which is the same for every path.
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.path.top_k import refresh, watch
from vcgym.baselines.path.vcroute.screening import lowest_draw
from vcgym.baselines.path.vcroute.vcroute import VCRoute, learn, require_predicted
from vcgym.baselines.rule import Control, allocate, decide, init, reveal_delay, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import slot_at


@rule(Control.PATH, oracle=True)
class OracleVCRoute(NamedTuple):
    """Parameters."""

    loss_reward_ms: Annotated[float, (0.0, 1e6)] = 0.0  # 0: lost packets are ignored
    route: VCRoute = VCRoute()


@allocate.register(OracleVCRoute)
def _allocate(params, sessions, paths):
    require_within(params)
    require_predicted(params.route)
    return allocate(params.route, sessions, paths)


@init.register(OracleVCRoute)
def _init(params, state, s, start, key):
    init(params.route, state, s, start, key)


@update.register(OracleVCRoute)
def _update(params, state, s, record):
    watch(params.route.topk, state.arms[s, record.path].bounds, (record.arrived_us - record.sent_us) / 1000.0)


@decide.register(OracleVCRoute)
def _decide(params, state, s, now_us):
    refresh(params.route.topk, state.call[s].candidates, state.arms[s], state.shortlist[s], now_us)
    return lowest_draw(state, s, slot_at(now_us))


@reveal_delay.register(OracleVCRoute)
def _reveal_delay(params, state, s, path, delay_us):
    if delay_us >= 0:
        learn(params.route, state, s, path, delay_us / 1000.0)
    elif params.loss_reward_ms > 0.0:
        learn(params.route, state, s, path, params.loss_reward_ms)
