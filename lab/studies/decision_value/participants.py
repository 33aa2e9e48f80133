"""Participants of the study: VCRoute with every possible reward, in three kinds that choose among increasingly similar paths.

Within a kind only the reward differs, and all participants have the same worlds and the same random numbers.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from lab.studies.decision_value.linear import Linear
from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute.online import VCRouteOnline
from vcgym.baselines.path.vcroute.oracle import OracleVCRoute
from vcgym.baselines.path.vcroute.vcroute import RewardSource, Sample, VCRoute
from vcgym.predictors.predictor import LastValue
from vcgym.predictors.published import shipped_network

NEWEST_WEIGHT = 0.125  # weight of the newest value in the moving average: alpha of RFC 6298, section 2.3

KINDS: dict[str, VCRoute] = {
    "VCR-WM": VCRoute(),
    "VCR5-WM": VCRoute(topk=TopK(Choice.BEST_FIVE)),
    "VCR5M-WM": VCRoute(topk=TopK(Choice.BEST_FIVE), sample=Sample.MEAN),
}
ABOUT = {
    "VCR-WM": "the paper's: intervals of the history decide which paths are kept, mostly one; draws of the next delay",
    "VCR5-WM": "the five best paths of the history are kept; draws of the next delay",
    "VCR5M-WM": "the five best paths of the history are kept; draws of the mean delay",
}


class Reward(NamedTuple):
    """Reward of VCRoute: its name, a description, and the rule of each kind with it."""

    name: str
    about: str
    rule: Callable[[VCRoute], Any]


def _predicting(predictor: Callable[[], Any]) -> Callable[[VCRoute], Any]:
    return lambda route: route._replace(predictor=predictor())


REFERENCE, BASIS = "oracle", "last value"


def _delayed(route: VCRoute) -> VCRoute:
    return route._replace(reward=RewardSource.DELAYED_ACTUAL)


REWARDS = (
    Reward(BASIS, "newest delay fed back", _predicting(LastValue)),
    Reward("delay plus jitter", "newest delay plus the lag of Algorithm 2", _predicting(Linear)),
    Reward(
        "EWMA",
        f"moving average of the delays, weight {NEWEST_WEIGHT:g} on the newest, plus the lag",
        lambda route: route._replace(predictor=Linear(), newest_weight=NEWEST_WEIGHT),
    ),
    Reward("linear", "least squares on delay and lag", _predicting(partial(Linear, 1.00781, 0.96881, 1.4444))),
    Reward("dnn", "the shipped network", _predicting(shipped_network)),
    Reward("dnn, online", "the shipped network, corrected while the call runs", lambda route: VCRouteOnline(route=_dnn(route))),
    Reward("delayed actual", "delay of each packet fed back, a round trip late", _delayed),
    Reward(REFERENCE, "true one-way delay at once; no rule can know it", lambda route: OracleVCRoute(route=route)),
)


def _dnn(route: VCRoute) -> VCRoute:
    return route._replace(predictor=shipped_network())
