"""Search for the weights of a learned scheduler on whole calls, from weights of 0, which are first in, first out.

CMA-ES (`lab.learners.price_search`) plays every candidate of a generation on the same fresh training worlds of `order`, with the
published TFRC as the rate. The score of a world is the reward `on_time` as a share of what all its packets on time would earn, less
`PRICE` times the share of the video that is on time with `FLOOR_RULE` in the same world and lacks to `video_floor` of it.
"""

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lab.learners.price_search import search_prices
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.controllers.learned_order import NUMBERS, LearnedOrder
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.systems import System, load_system
from vcgym.baselines.zoo import LEARNED, save_learned
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.sender.batch import SendingTotals
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.tuning.tune_calls import Kinds, SenderTask
from vcgym.leaderboard.tuning.tuning import compared
from vcgym.network.bottleneck.send_queue import VIDEO
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

log = logging.getLogger(__name__)

SCENARIO = "order"
RULES = ("UNMOD", "SBPN2", "SBPN2-E", "SBPN2-order-tuned")
"""Systems over the same rate that a learned scheduler is compared with on validation worlds."""
FLOOR_RULE, PRICE = "SBPN2", 5.0  # our choice: a tenth of the video lost costs more than all the audio that it can bring


class OrderConfig(Config):
    """Search for the weights of a learned scheduler, once per seed.

    Attributes:
        trials: candidates per seed.
        population: candidates per generation.
        search_step: initial standard deviation of every weight.
        worlds: worlds of each kind per generation.
        video_floor: share of the video of `FLOOR_RULE` in a world below which a candidate pays; 0: it never pays.
        validation_worlds: validation worlds of all kinds together, played once the search is over.
        seeds: seeds of the searches, one learned system each.
        folder: folder of the gains so far and of the learned systems, seed-SEED/learned.json; a search that was stopped resumes there.
    """

    trials: Annotated[int, Field(ge=4, le=100_000)] = 360
    population: Annotated[int, Field(ge=4, le=1000)] = 12
    search_step: Annotated[float, Field(gt=0.0, le=10.0)] = 1.0
    worlds: Annotated[int, Field(ge=1, le=1000)] = 1
    video_floor: Annotated[float, Field(ge=0.0, le=1.0)] = 0.8
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 96
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=10_000)]], Field(min_length=1)] = Field(default=[0, 1, 2, 3, 4])
    folder: AbsolutePath = Path("outputs/train/order")

    @property
    def generations(self) -> int:
        """Number of generations."""
        return -(-self.trials // self.population)


class OrderWorlds:
    """Evaluator of schedulers on the worlds of each generation of a search.

    Args:
        config: see `OrderConfig`.
        seed: seed of the search.
    """

    def __init__(self, config: OrderConfig, seed: int) -> None:
        self._config, self._first, self._scenario = config, seed * config.generations, SendingScenario(SCENARIO)

    def __len__(self) -> int:
        """Return the number of generations."""
        return self._config.generations

    def scores(self, rules: Sequence[Any], chunk: int) -> list[NDArray[np.float64]]:
        """Return, for each scheduler, the score of each world of a generation, at most 1."""
        floor = self._config.video_floor * video_share(self.play(load_system(FLOOR_RULE).order, chunk))
        played = [self.play(rule, chunk) for rule in rules]
        return [earned_share(totals) - PRICE * np.maximum(floor - video_share(totals), 0.0) for totals in played]

    def play(self, scheduler: Any, chunk: int) -> SendingTotals:
        """Return the totals of a scheduler's calls in the worlds of a generation."""
        per_kind, first = self._config.worlds, self._first + chunk
        seeds = range(first * per_kind, (first + 1) * per_kind)
        links = [self._scenario.draw("train", seed, kind) for kind in self._scenario.kinds for seed in seeds]
        batch = started_batch(System(Tfrc(), scheduler), links)
        batch.play(np.arange(len(links)))
        return batch.totals()


def earned_share(totals: SendingTotals) -> NDArray[np.float64]:
    """Return (sessions,) the reward `on_time` of each call, as a share of what all its packets on time would earn."""
    prices = np.array([OnTime().video, OnTime().audio])
    return np.asarray(totals.on_time @ prices / (totals.created @ prices))


def video_share(totals: SendingTotals) -> NDArray[np.float64]:
    """Return (sessions,) the share of the captured video that is on time."""
    return np.asarray(totals.on_time[:, VIDEO] / totals.created[:, VIDEO])


def train_order(config: OrderConfig, seed: int, on_generation: Callable[[int, float], None]) -> dict[str, Any]:
    """Search, save the learned system in the folder of `config`, and return its gain in audio on time over each of `RULES`."""
    home, worlds = config.folder / f"seed-{seed}", OrderWorlds(config, seed)
    home.mkdir(parents=True, exist_ok=True)
    told = home / f"gains-{config.digest()}.jsonl"
    weights = search_prices(
        np.zeros(NUMBERS), np.ones(NUMBERS), worlds, config.trials, config.population, config.search_step, seed, told,
        lambda trials, gain, _: on_generation(trials, gain), LearnedOrder,
    )  # fmt: skip
    learned = System(Tfrc(), LearnedOrder(weights))
    kinds = SendingScenario(SCENARIO).kinds
    named = Kinds(tuple(f"{SCENARIO} {kind}" for kind in kinds), kinds)
    task = SenderTask(0, -(-config.validation_worlds // len(kinds)), SCENARIO, named)
    found = task.scores(learned, "validation")
    validation = {name: compared(task.metric, of_rule, found) for name, of_rule in _rules(task).items()}
    packets = config.population * sum(int(worlds.play(learned.order, chunk).created.sum()) for chunk in range(len(worlds)))
    worlds_played = config.generations * config.worlds * len(kinds)
    budget = {"packets": packets, "trials": config.generations * config.population, "worlds": worlds_played}
    study = {"config": config.decisive(), "seed": seed, "budget": budget, "validation": validation}
    source = f"python -m lab train-order on the training split of {SCENARIO}; packets are those captured"
    save_learned(home, LEARNED, learned.rules, study, f"A learned send order over TFRC, seed {seed}, from weights of 0", source)
    return validation


@lru_cache(maxsize=1)
def _rules(task: SenderTask) -> dict[str, NDArray[np.float64]]:
    return {name: task.scores(load_system(name), "validation") for name in RULES}


def main(config: OrderConfig) -> None:
    """Search once per seed, save each as a learned system and print its gain over the rules on validation worlds."""
    for seed in config.seeds:
        with progress(f"send orders of seed {seed}", config.trials) as on_progress:
            found = train_order(config, seed, lambda trials, gain: on_progress(trials, f"best gain {gain:.3f}"))
        log.info(f"{config.folder / f'seed-{seed}'}: validation {found}")
