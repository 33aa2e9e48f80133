"""Packets per second of whole calls, rules inside the loop, over worlds drawn outside the timed part; starting a call is inside it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vcgym.baselines.buffer_target import NetEqTarget
from vcgym.baselines.direct import Direct
from vcgym.baselines.vcroute import VCRoute
from vcgym.baselines.via import Via
from vcgym.baselines.wmjitter import WMJitter
from vcgym.envs.batch import CallBatch
from vcgym.leaderboard.bench.measure import Absent, Effort, Record, Run, median_ratio, rate
from vcgym.leaderboard.rollout import RulePair
from vcgym.network.scenario import Scenario
from vcgym.network.world import BLOCK_SLOTS, DrawnWorld

PACKETS = 6000
CALLS = 16

# The networks that forecast for VCRoute, by name: exact, and the same as a table. A figure is there once its predictor is.
NETWORKS: dict[str, Any] = {}

SYSTEMS = {
    "drt_bf": RulePair(Direct(), NetEqTarget()),
    "drt_wm": RulePair(Direct(), WMJitter()),
    "via_wm": RulePair(Via(), WMJitter()),
    "vcr_wm_last_value": RulePair(VCRoute(), WMJitter()),
} | {f"vcr_wm_{name}": RulePair(VCRoute(predictor=network), WMJitter()) for name, network in NETWORKS.items()}


def calls(pair: RulePair, scenario: Scenario, sessions: int, threads: int = 1) -> Run:
    """What plays `sessions` calls from start to end, on worlds that are drawn here."""
    draws = [scenario.draw("train", seed) for seed in range(sessions)]
    rows, world = np.arange(sessions), scenario.world(sessions)
    for row, draw in enumerate(draws):
        world.start(row, draw)
    drawn = DrawnWorld(world, rows, -(-scenario.packets // BLOCK_SLOTS))
    batch = CallBatch(scenario, sessions, pair.router, pair.receiver, threads=threads, world=drawn)

    def run() -> None:
        for row, draw in enumerate(draws):
            batch.start(row, draw)
        batch.play(rows)

    return run


def system(name: str, effort: Effort, mode: str = "paper") -> Iterator[Record | Absent]:
    """Packets per second of one system of `SYSTEMS`, on one thread and on two; a mode other than paper is named."""
    named = name if mode == "paper" else f"{name}_{mode}"
    if name not in SYSTEMS:
        yield Absent(named, "predictors/ holds no such network yet")
        return
    scenario, sessions = Scenario("wonderproxy", mode, effort.part(PACKETS)), effort.part(CALLS, least=2)
    for threads, unit in ((1, "packets/s/core"), (2, "packets/s")):
        yield rate(named, unit, sessions * scenario.packets, calls(SYSTEMS[name], scenario, sessions, threads), effort, threads)


def paths(number: int, effort: Effort) -> Iterator[Record]:
    """Packets per second of VCR-WM over that many paths, in the scale scenario of the VCRoute paper (section VI-D)."""
    amount, run = _vcr_wm(f"synthetic-{number}", effort)
    yield rate(f"vcr_wm_paths_{number}", "packets/s/core", amount, run, effort)


def paths_ratio(effort: Effort) -> Iterator[Record]:
    """Cost of a packet with 900 paths over that with 17."""
    yield median_ratio("vcr_wm_paths_900_over_17", _vcr_wm("synthetic-900", effort), _vcr_wm("wonderproxy", effort), effort)


def _vcr_wm(name: str, effort: Effort) -> tuple[int, Run]:
    # Two calls: 900 paths take 22 MB each.
    scenario, sessions = Scenario(name, "paper", effort.part(PACKETS)), 2
    return sessions * scenario.packets, calls(SYSTEMS["vcr_wm_last_value"], scenario, sessions)
