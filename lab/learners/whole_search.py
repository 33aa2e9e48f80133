"""Search for the weights of a learned send order on whole calls: over a shared bottleneck and then paths, as on the board `whole-v0`.

CMA-ES (`lab.learners.price_search`) plays every candidate of a generation on the same fresh training worlds: each kind of bottleneck of the
board before paths between training pairs. Path and playout are those of a shipped pair, the rate is GCC as in libwebrtc. The weights begin
at 0, which are first in, first out. The score of a call is the return of `vcgym/Call-v1` with `uplink` in points of R: the reward `emodel`,
and 0.25 per video packet on time.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lab.learners.pair import specialist
from lab.learners.pair_config import Specialist
from lab.learners.price_search import search_prices
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.controllers.learned_order import NUMBERS, LearnedOrder
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import System, load_system
from vcgym.baselines.zoo import LEARNED, save_learned
from vcgym.envs.call.rewards.emodel import TICKS_PER_MINUTE
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.leaderboard.evaluation.kinds.whole import WholeCalls, WholeScenario, WholeWorld, play_whole
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.tuning.tuning import compared
from vcgym.network.bottleneck.send_queue import VIDEO

log = logging.getLogger(__name__)

SUITE = SUITES["whole-v0"]
PAIR: Specialist = "correlated"
RATE = "GCC-WEBRTC"
"""Pair and system whose path and playout, and whose rate, stay as they are."""


class WholeConfig(Config):
    """Search for the weights of a learned send order on whole calls, once per seed.

    Attributes:
        trials: candidates per seed.
        population: candidates per generation.
        search_step: initial standard deviation of every weight.
        worlds: worlds of each kind of bottleneck per generation.
        validation_worlds: validation worlds of each kind, played once the search is over.
        seeds: seeds of the searches, one learned system each.
        folder: folder of the gains so far and of the learned systems, seed-SEED/learned.json; a search that was stopped resumes there.
    """

    trials: Annotated[int, Field(ge=4, le=100_000)] = 240
    population: Annotated[int, Field(ge=4, le=1000)] = 12
    search_step: Annotated[float, Field(gt=0.0, le=10.0)] = 0.7
    worlds: Annotated[int, Field(ge=1, le=1000)] = 2
    validation_worlds: Annotated[int, Field(ge=1, le=1000)] = 10
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=10_000)]], Field(min_length=1)] = Field(default=[0])
    folder: AbsolutePath = Path("outputs/train/whole")

    @property
    def generations(self) -> int:
        """Number of generations."""
        return -(-self.trials // self.population)


class WholeWorlds:
    """Evaluator of systems on the worlds of each generation of a search.

    Args:
        config: see `WholeConfig`.
        seed: seed of the search.
    """

    def __init__(self, config: WholeConfig, seed: int) -> None:
        self._config, self._first = config, seed * config.generations
        self._parts = [(part, SUITE.kind.open(part, SUITE.packets)) for part in SUITE.parts]

    def __len__(self) -> int:
        """Return the number of generations."""
        return self._config.generations

    def scores(self, systems: Sequence[System], chunk: int) -> list[NDArray[np.float64]]:
        """Return, for each system, the score of each world of a generation."""
        return self.play(systems, "train", self._first + chunk, self._config.worlds)

    def play(self, systems: Sequence[System], split: str, number: int, worlds: int) -> list[NDArray[np.float64]]:
        """Return, for each system, the score of each of the next `worlds` worlds of every kind of a split."""
        drawn = self._drawn(split, number * worlds, worlds)
        return [np.array([score for part in drawn for score in call_returns(play_whole(system, *part).calls)]) for system in systems]

    def _drawn(self, split: str, first: int, worlds: int) -> list[tuple[WholeScenario, list[WholeWorld]]]:
        drawn = []
        for kind, (part, scenario) in enumerate(self._parts):
            pairs = scenario.paths.pairs(split)
            keys = [(pairs[(seed + kind) % len(pairs)], seed) for seed in range(first, first + worlds)]
            drawn.append((scenario, SUITE.kind.draw(part._replace(split=split), scenario, keys)))
        return drawn


def call_returns(calls: WholeCalls) -> list[float]:
    """Return the return of each call in points of R."""
    heard = rows(calls.played)
    seen = [OnTime().video * int(flow.totals.on_time[flow.row, VIDEO]) for flow in calls.flows]
    return [100.0 * (row["return_emodel"] + video) / TICKS_PER_MINUTE for row, video in zip(heard, seen, strict=True)]


def system_of(weights: NDArray[np.float64]) -> System:
    """Return the system of whole calls with an order of these weights."""
    pair, rate = specialist(PAIR), load_system(RATE)
    return System(path=pair.path, playout=pair.playout, rate=rate.rate, order=LearnedOrder(weights), pacing=rate.pacing)


def train_whole(config: WholeConfig, seed: int, on_generation: Callable[[int, float], None]) -> dict[str, Any]:
    """Search, save the learned system in the folder of `config`, and return its gain over first in, first out on validation worlds."""
    home, worlds = config.folder / f"seed-{seed}", WholeWorlds(config, seed)
    home.mkdir(parents=True, exist_ok=True)
    weights = search_prices(
        np.zeros(NUMBERS), np.ones(NUMBERS), worlds, config.trials, config.population, config.search_step, seed,
        home / f"gains-{config.digest()}.jsonl", lambda trials, gain, _: on_generation(trials, gain), system_of,
    )  # fmt: skip
    learned = system_of(weights)
    before, after = worlds.play([system_of(np.zeros(NUMBERS)), learned], "validation", 0, config.validation_worlds)
    played = config.generations * config.population * config.worlds * len(SUITE.parts)
    budget = {"packets": played * SUITE.packets, "trials": config.generations * config.population, "worlds": played // config.population}
    validation = compared("return", before, after)
    study = {"config": config.decisive(), "seed": seed, "budget": budget, "validation": validation}
    source = "python -m lab train-whole on the training split of the worlds of whole-v0; packets are those of the audio"
    description = f"A send order learned on whole calls, seed {seed}, behind a learned pair and with GCC"
    save_learned(home, LEARNED, learned.rules, study, description, source, learned.pacing)
    return validation


def main(config: WholeConfig) -> None:
    """Search once per seed, save each as a learned system and print its gain over first in, first out on validation worlds."""
    for seed in config.seeds:
        with progress(f"send orders of whole calls, seed {seed}", config.trials) as on_progress:
            found = train_whole(config, seed, lambda trials, gain: on_progress(trials, f"best gain {gain:.3f}"))
        log.info(f"{config.folder / f'seed-{seed}'}: validation {found}")
