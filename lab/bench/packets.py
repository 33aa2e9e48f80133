"""Packets per second of whole calls with rules inside the loop. Starting a call is timed; sampling its world is not.

VCRoute chooses here among the five paths with the lowest historical mean (`vcgym.baselines.path.top_k.BEST_FIVE`). The paper's top-k
by intervals leaves one path in nearly all worlds, and a router with one path neither samples nor predicts, so it would not measure the
predictor. Here each packet costs a Thompson choice among five paths and one prediction by the shipped network. The figures by number of
paths, and the paper's evaluation, use the paper's top-k.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from lab.bench.measure import Effort, Measurement, Run, duration, median_ratio, rate
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.fixed import FixedProtection
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.together import batches_together, every_pair, play_together
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import DrawnWorld
from vcgym.predictors.published import shipped_network

# Calls are long because starting one runs in Python.
PACKETS = 30_000
CALLS = 4

VCR_WM = System(VCRoute(), WMJitter())
SYSTEMS = {
    "drt_bf": System(Direct(), NetEqTarget()),
    "drt_wm": System(Direct(), WMJitter()),
    "via_wm": System(Via(), WMJitter()),
    "vcr_wm_last_value": System(VCRoute(topk=TopK(Choice.BEST_FIVE)), WMJitter()),
}


def calls(pair: System, scenario: Scenario, sessions: int, threads: int = 1) -> Run:
    """Return a function that plays `sessions` whole calls on worlds that are sampled in advance."""
    draws = [scenario.draw("train", seed) for seed in range(sessions)]
    rows, world = np.arange(sessions), scenario.world(sessions)
    for row, draw in enumerate(draws):
        world.start(row, draw)
    drawn = DrawnWorld(world, rows, -(-scenario.packets // BLOCK_SLOTS))
    batch = CallBatch(scenario, sessions, pair.path, pair.playout, threads=threads, world=drawn, protection=pair.protection)

    def run() -> None:
        for row, draw in enumerate(draws):
            batch.start(row, draw)
        batch.play(rows)

    return run


def system(name: str, effort: Effort, mode: str = "paper") -> Iterator[Measurement]:
    """Yield the packets per second of one system with one and two threads; modes other than paper appear in the name.

    Args:
        name: name in `SYSTEMS`, or "vcr_wm_exact", with the shipped network.
        effort: amount of work.
        mode: mode of the worlds.
    """
    named = name if mode == "paper" else f"{name}_{mode}"
    pair = SYSTEMS[name] if name in SYSTEMS else _forecasting(shipped_network())
    scenario, sessions = Scenario("wonderproxy", mode, effort.part(PACKETS)), effort.part(CALLS, minimum=2)
    for threads, unit in ((1, "packets/s/core"), (2, "packets/s")):
        yield rate(named, unit, sessions * scenario.packets, calls(pair, scenario, sessions, threads), effort, threads)


def _forecasting(predictor: Any) -> System:
    vcr_wm = SYSTEMS["vcr_wm_last_value"]
    return vcr_wm.replace(path=vcr_wm.path._replace(predictor=predictor))


def protected_ratio(effort: Effort) -> Iterator[Measurement]:
    """Yield the ratio of the cost per packet with an earlier frame in each packet to that without the stage of the protection."""
    scenario, sessions = Scenario("wonderproxy", "paper", effort.part(PACKETS)), effort.part(CALLS, minimum=2)
    plain, amount = SYSTEMS["drt_wm"], sessions * scenario.packets
    protected = plain.replace(protection=FixedProtection(earlier=2))
    slow, fast = ((amount, calls(pair, scenario, sessions)) for pair in (protected, plain))
    yield median_ratio("drt_wm_red1_over_drt_wm", slow, fast, effort)


def paths(number: int, effort: Effort) -> Iterator[Measurement]:
    """Yield the packets per second of VCR-WM over `number` paths, in the scale scenario of the VCRoute paper (section VI-D)."""
    amount, run = _vcr_wm(f"synthetic-{number}", effort)
    yield rate(f"vcr_wm_paths_{number}", "packets/s/core", amount, run, effort)


def paths_ratio(effort: Effort) -> Iterator[Measurement]:
    """Yield the ratio of the cost per packet with 900 paths to that with 17."""
    yield median_ratio("vcr_wm_paths_900_over_17", _vcr_wm("synthetic-900", effort), _vcr_wm("wonderproxy", effort), effort)


def _vcr_wm(name: str, effort: Effort) -> tuple[int, Run]:
    # Two calls: 900 paths take 110 MB each.
    scenario, sessions = Scenario(name, "paper", effort.part(PACKETS)), 2
    return sessions * scenario.packets, calls(VCR_WM, scenario, sessions)


PAPER_PACKETS = 600_000
PAPER_SYSTEMS = [SYSTEMS["drt_bf"], SYSTEMS["drt_wm"], System(Via(), NetEqTarget()), SYSTEMS["via_wm"], VCR_WM]


def paper_evaluation(effort: Effort) -> Iterator[Measurement]:
    """Yield the seconds of the VCRoute paper's evaluation, 25 sessions of five systems; each world is sampled once for all systems."""
    scenario = Scenario("wonderproxy", "paper", effort.part(PAPER_PACKETS))
    draws = every_pair(scenario, 1)
    batches = batches_together(scenario, [system.rules for system in PAPER_SYSTEMS], len(draws))
    for threads in (1, 2):
        yield duration("paper_evaluation_s", partial(play_together, batches, draws, threads), effort, threads)
