"""Readings under assumptions: the systems that the paper compares, and what counts as lost."""

from typing import Any

import numpy as np
import pyarrow as pa

from lab.papers.inverse.assumptions import Assumptions
from vcgym.baselines.receivers.bf_published import PublishedBuffer
from vcgym.baselines.receivers.buffer_target import NetEqTarget
from vcgym.baselines.receivers.count_buffer import CountTarget
from vcgym.baselines.receivers.wmjitter import WMJitter
from vcgym.baselines.routers.direct import Direct
from vcgym.baselines.routers.top_k import Choice, TopK
from vcgym.baselines.routers.vcroute.oracle import OracleVCRoute
from vcgym.baselines.routers.vcroute.vcroute import RewardSource, Sample, VCRoute
from vcgym.baselines.routers.via import Via
from vcgym.baselines.systems import System
from vcgym.leaderboard.results.cdf import ACCOUNTINGS, GRID_MS
from vcgym.predictors.last_value import LastValue
from vcgym.predictors.published import shipped_network

FOUR_PACKETS_MS = 30.0  # steady wait behind a buffer of four packets (Fig. 6)
REFRESH_S = 5.0
MAX_DELAY_MS = 400.0  # one-way limit for planning, ITU-T G.114
_TOP_K = {
    "interval": TopK(), "best_five": TopK(Choice.BEST_FIVE), "published": TopK(Choice.PUBLISHED), "refreshed": TopK(refresh_s=REFRESH_S),
}  # fmt: skip


def systems_of(assumed: Assumptions) -> dict[str, System]:
    """Return the paper's five systems and VCR-BF under assumptions."""
    watermark = WMJitter(ms_per_loss_percent=assumed.ms_per_loss_percent, update_on_late=assumed.late_teaches)
    buffer = {"neteq_like": NetEqTarget(), "published": PublishedBuffer(), "fixed": CountTarget(FOUR_PACKETS_MS)}[assumed.buffer]
    routers = {"DRT": Direct(), "VIA": Via(ucb_c=assumed.ucb_c, topk=_TOP_K[assumed.topk]), "VCR": _vcroute(assumed)}
    receivers = {"BF": buffer, "WM": watermark}
    return {f"{a}-{b}": System(router, receiver) for a, router in routers.items() for b, receiver in receivers.items()}


def _vcroute(assumed: Assumptions) -> Any:
    route = VCRoute(sample=Sample[assumed.sample.upper()], topk=_TOP_K[assumed.topk])
    if assumed.reward == "at_once":
        return OracleVCRoute(route=route)
    if assumed.reward == "delayed":
        return route._replace(reward=RewardSource.DELAYED_ACTUAL)
    return route._replace(predictor=shipped_network() if assumed.reward == "predicted" else LastValue())


def location_of(assumed: Assumptions) -> str:
    """Return the location of the routers."""
    return "central" if assumed.plans == "delayed" else "sender"


def count_lost(calls: pa.Table, lost: str) -> pa.Table:
    """Return calls (`lab.papers.vcroute.outcomes.play_worlds`) with the losses that a reading of "lost" counts."""
    for accounting in ACCOUNTINGS if lost != "all" else ():
        if lost == "late":
            share = calls[f"{accounting}_late_loss"].to_numpy()
        else:
            at = int(np.searchsorted(GRID_MS, MAX_DELAY_MS))
            within = np.array([counts[at] for counts in calls[f"{accounting}_packets_within"].to_pylist()])
            share = 1.0 - within / calls[f"{accounting}_packets_sent"].to_numpy()
        name = f"{accounting}_loss"
        calls = calls.set_column(calls.schema.get_field_index(name), name, pa.array(share))
    return calls
