"""Search for the weights of a learned rate on whole calls: CMA-ES (Hansen 2016, arXiv 1604.00772) on the true score.

A generation plays every candidate on the same fresh worlds of the training split: each case of `rmcat`, all of whose media flows are the
candidate; each kind of `rate`, one of them beside CUBIC; each kind of measured trace, if there are any, several times; calls beside
others, and several beside libwebrtc's GCC; pairs beside it, and beside NADA as its authors run it. The score of a world is the utility,
mean over the candidate's flows, less `price` times the share of their fair part that others lose to it: while they are there, an equal part
of the capacity for each (connections that send files have none). The fitness is the mean arcsinh of the score less the generation's median
in that world, so that no world of large losses dominates.
"""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lab.learners.price_search import evolve
from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.controllers.learned_rate import LearnedRate
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.controls.control import PACING
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.systems import System
from vcgym.baselines.zoo import LEARNED, save_learned
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.evaluation.suites import MEASURED
from vcgym.leaderboard.results.sender_metrics import capacity_bps, utility
from vcgym.leaderboard.tuning.tuning import compared
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

log = logging.getLogger(__name__)

START = np.array([0.06, -13.2, -0.55, -0.5, 0.31, 1.2, 0.2, 13.8, 0.7, 0.4, 1.42, 18.0, 1.1, 0.55, 5.6, 1.7])
"""Initial weights, found by hand on validation worlds."""
SCALE = np.array([0.1, 1.0, 0.3, 0.5, 0.1, 0.4, 0.3, 1.0, 0.4, 0.5, 0.2, 4.0, 0.4, 0.4, 0.4, 0.7])
"""Step of each weight that a search begins with, declared."""
_MEASURED_WORLDS = 3  # of each kind and generation: they differ most
_GCC_WORLDS = 3  # of calls beside one to three of libwebrtc's GCC: what they lose differs most
_PAIR_MBPS, _PAIR_QUEUE_S = (1.0, 2.0, 4.0), 0.3  # the second capacity and the queue are those of `vcgym fairness`
_RIVALS = {"gcc_webrtc": PACING, "nada_xmax": 1.0}  # rate and pacing of the other call of a pair
_STEEPNESS = 2.0  # differences of score up to a half count in full


class RateConfig(Config):
    """Search for the weights of a learned rate, once per seed.

    Attributes:
        trials: candidates per seed.
        population: candidates per generation.
        search_step: initial standard deviation, in natural steps of the weights.
        price: utility per s that the candidate pays if others lose all that is fairly theirs; 0: none.
        seconds: maximum length of a world; longer ones are cut.
        validation_worlds: validation worlds of each kind, played with the first and the last weights without influence.
        seeds: seeds of the searches, one learned system each.
        folder: folder of the learned systems, seed-SEED/learned.json; a seed that is there is not searched again.
    """

    trials: Annotated[int, Field(ge=4, le=100_000)] = 96
    population: Annotated[int, Field(ge=4, le=1000)] = 12
    search_step: Annotated[float, Field(gt=0.0, le=10.0)] = 0.3
    price: Annotated[float, Field(ge=0.0, le=100.0)] = 3.0
    seconds: Annotated[float, Field(ge=10.0, le=600.0)] = 80.0
    validation_worlds: Annotated[int, Field(ge=2, le=1000)] = 4
    data: DataConfig = Field(default_factory=DataConfig)
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=10_000)]], Field(min_length=1)] = Field(default=[0, 1, 2, 3, 4])
    folder: AbsolutePath = Path("outputs/train/rate")


class Scores(NamedTuple):
    """Score of each world, and the number of packets that were sent for it."""

    values: NDArray[np.float64]
    packets: int


class RateWorlds:
    """Worlds of a search; those with number n have the seed n in each scenario.

    Args:
        config: see `RateConfig`.
    """

    def __init__(self, config: RateConfig) -> None:
        measured = [(MEASURED, None)] if config.data.root is not None else []
        asked = [("rmcat", None), ("rate", None), ("calls", ("gcc", "mixed")), *measured]
        self._config, self._kinds = config, [(SendingScenario(name), kinds) for name, kinds in asked]

    def draw(self, split: str, n: int) -> list[SharedLink]:
        """Return the worlds with number `n` of a split: one or several of each kind, and the pairs."""
        drawn = []
        for scenario, kinds in self._kinds:
            for kind in kinds or scenario.kinds:
                times = _MEASURED_WORLDS if scenario.name == MEASURED else _GCC_WORLDS if kind == "gcc" else 1
                drawn += [scenario.draw(split, times * n + i, kind) for i in range(times)]
        beside_gcc = next(link for link in drawn if link.name == "gcc")
        drawn += [_pair(beside_gcc, rival, mbps) for rival in _RIVALS for mbps in _PAIR_MBPS]
        return [link._replace(seconds=min(link.seconds, self._config.seconds)) for link in drawn]

    def scores(self, weights: NDArray[np.float64], links: Sequence[SharedLink]) -> Scores:
        """Return the score of weights in each world."""
        system, found, packets = System(LearnedRate(weights), Fifo()), np.zeros(len(links)), 0
        for rows in _alike(links):
            group = [links[row] for row in rows]
            batch = started_batch(system, group)
            batch.play(np.arange(len(group)))
            packets += int(batch.totals().sent.sum())
            found[rows] = [score(link, batch, row, self._config.price) for row, link in enumerate(group)]
        return Scores(found, packets)


def _pair(link: SharedLink, rival: str, mbps: float) -> SharedLink:
    """Return a world with one of its other calls, by the rule `rival`, over a constant capacity and a queue of `_PAIR_QUEUE_S`."""
    queue_bytes = int(_PAIR_QUEUE_S * mbps * 1e6 / 8.0)
    other = next(flow for flow in link.flows if isinstance(flow, OtherCall))._replace(rate=rival, pacing=_RIVALS[rival])
    return link._replace(name="pair", trace=constant(mbps * 1e6), queue_bytes=queue_bytes, flows=(other,))


def _alike(links: Sequence[SharedLink]) -> Iterator[list[int]]:
    """Yield the indices of worlds that can be played in one batch."""
    groups: dict[tuple[bool, bool], list[int]] = {}
    for row, link in enumerate(links):
        groups.setdefault((_is_shared(link), link.reverse is not None), []).append(row)
    yield from groups.values()


def _is_shared(link: SharedLink) -> bool:
    return any(isinstance(flow, OtherCall) and flow.rate == SAME for flow in link.flows)


def score(link: SharedLink, batch: SendingBatch, row: int, price: float) -> float:
    """Return the score of one world, in utility per second.

    Args:
        link: the world.
        batch: finished calls.
        row: row of the world in the batch.
        price: see `RateConfig`.
    """
    flows = batch.flows(row)
    if _is_shared(link):
        return float(np.mean([utility(flow.link, flow.log, flow.totals, flow.row) for flow in flows]))
    own, *_ = flows
    found = utility(link, own.log, own.totals, own.row)
    others = [flow for flow in link.flows if isinstance(flow, OtherCall) or (isinstance(flow, Tcp) and flow.file_bytes is None)]
    theirs = sum(min(flow.stops_s, link.seconds) - flow.starts_s for flow in others) / (link.seconds * (1 + len(others)))
    if theirs <= 0.0:
        return found
    heard = own.log[own.log["arrived_us"] >= 0]
    share = 8.0 * float(heard["size_bytes"].sum()) / (link.seconds * capacity_bps(link))
    return found - price * max(0.0, (share - (1.0 - theirs)) / theirs)


def search_weights(config: RateConfig, seed: int) -> tuple[list[float], dict[str, Any]]:
    """Return the mean weights of the last generation, and the study."""
    worlds, packets, played = RateWorlds(config), 0, 0
    generations = -(-config.trials // config.population)
    with progress(f"rates of seed {seed}: generations", generations) as on_progress:

        def score_all(generation: int, candidates: list[NDArray[np.float64]]) -> list[float]:
            nonlocal packets, played
            links = worlds.draw("train", seed * generations + generation)
            scores = [worlds.scores(weights, links) for weights in candidates]
            values = np.stack([one.values for one in scores])
            packets, played = packets + sum(one.packets for one in scores), played + len(links)
            on_progress(generation + 1, f"mean score {values.mean():.3f}")
            return list(np.arcsinh(_STEEPNESS * (values - np.median(values, axis=0))).mean(axis=1))

        weights = evolve(START, SCALE, np.asarray, score_all, config.trials, config.population, config.search_step, seed)
    validation = [link for n in range(config.validation_worlds) for link in worlds.draw("validation", n)]
    budget = {"packets": packets, "trials": generations * config.population, "worlds": played}
    before, after = (worlds.scores(one, validation).values for one in (START, weights))
    study = {"config": config.decisive(), "seed": seed, "budget": budget, "validation": compared("score", before, after)}
    return weights.tolist(), study


def main(config: RateConfig) -> None:
    """Search once per seed, save each as a learned system and print its gain on validation worlds."""
    config.data.export()
    for seed in config.seeds:
        make = partial(search_weights, config, seed)
        weights, study = cached_document(config.folder / "searched", (config.decisive(), config.data.root is not None, seed), make)
        rules = {"rate": LearnedRate(np.array(weights)), "order": Fifo()}
        home = config.folder / f"seed-{seed}"
        home.mkdir(parents=True, exist_ok=True)
        save_learned(home, LEARNED, rules, study, f"A learned rate, seed {seed}", "python -m lab train-rate on training splits")
        log.info(f"{home}: validation {study['validation']}")
