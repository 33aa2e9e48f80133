"""Trial: play the paper's evaluation under assumptions, and judge its statements with the judge of the reproduction.

Judged are the statements about WMJitter as printed (the other reading is an assumption). Those about our inputs and about the machine's
speed depend on no assumption and are left out.
"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lab.papers.inverse.assumptions import Assumptions
from lab.papers.inverse.worlds import AssumedRecipe, plain
from lab.papers.judge import REPRODUCED
from lab.papers.reproduce.parts import PAPER, SCALE_PACKETS
from lab.papers.reproduce.verdicts import verdict_in
from lab.papers.vcroute.forecasts import SYSTEM, forecast_worlds
from lab.papers.vcroute.measures import Material
from lab.papers.vcroute.outcomes import play_worlds
from lab.papers.vcroute.statements import INPUTS, LATE_LEARNS, Cost, VCRouteStatement, load_statements, scenario_of
from lab.papers.verdicts import VERDICTS
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute.oracle import OracleVCRoute
from vcgym.baselines.path.vcroute.vcroute import RewardSource, Sample, VCRoute
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.bf_published import PublishedBuffer
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import every_pair
from vcgym.leaderboard.kept import kept
from vcgym.leaderboard.results.cdf import ACCOUNTINGS, GRID_MS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.predictors.predictor import LastValue
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


_FORECAST = ("wonderproxy", "cloud")


class Size(NamedTuple):
    """Number of worlds per pair, minimum number of worlds of a scenario, and length of a call in packets."""

    seeds: int
    min_worlds: int
    packets: int


class Trial:
    """Outcome of one trial.

    Attributes:
        assumed: the assumptions.
        rows: statement -> its row of `lab.papers.verdicts.VERDICTS`.
        held: the reproduced statements.
    """

    def __init__(self, assumed: Assumptions, rows: pa.Table) -> None:
        self.assumed = assumed
        self.rows = {row["statement"]: row for row in rows.to_pylist()}
        self.held = frozenset(name for name, row in self.rows.items() if row["verdict"] == REPRODUCED)


def judged_statements() -> list[VCRouteStatement]:
    """Return the statements whose verdict may depend on assumptions."""
    return [
        one for one in load_statements()
        if one.rule != "none" and LATE_LEARNS not in one.id and not isinstance(one.measure, (*INPUTS, Cost))
    ]  # fmt: skip


def tried(assumed: Assumptions, size: Size, folder: Path, threads: int) -> Trial:
    """Return the trial of assumptions, from the cache in `folder` if available, else played with `threads` threads."""

    def play() -> pa.Table:
        statements = judged_statements()
        scenarios = dict.fromkeys(filter(None, map(scenario_of, statements)))
        material = {about: _played(about, assumed, size, threads) for about in scenarios}
        rows = [verdict_in(one, PAPER, material[scenario_of(one) or ""], assumed.accounting) for one in statements]
        return pa.Table.from_pylist(rows, VERDICTS.schema)

    return Trial(assumed, kept(folder, (tuple(sorted(asdict(assumed).items())), tuple(size)), play))


def _played(about: str, assumed: Assumptions, size: Size, threads: int) -> Material:
    packets = min(size.packets * assumed.length, SCALE_PACKETS) if about.startswith("synthetic-") else size.packets * assumed.length
    scenario = Scenario(partial(AssumedRecipe, about=about, assumed=assumed), "paper", packets)
    draws = every_pair(scenario, size.seeds, size.min_worlds)
    systems, location = systems_of(assumed), location_of(assumed)
    calls = count_lost(play_worlds(scenario, draws, systems, threads, location), assumed.lost)
    forecasts = None
    if about in _FORECAST and isinstance(systems[SYSTEM].path, VCRoute):
        forecasts = forecast_worlds(scenario, draws, systems[SYSTEM], threads, location)
    return Material(plain(about, packets), calls, forecasts)
