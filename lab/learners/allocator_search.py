"""Training of an allocator of conferences: CMA-ES on utility and R of whole conferences, packet by packet.

The score of a conference is UTILITY_POINTS times the mean of ln(kbps + 10) over sessions and windows of 5 s, plus the mean R of the
listeners, from second 30 on as on the board. Our choice: 2.5 % of rate weigh as much as one point of R. For speed R is that of the best of
a few constant lags of each call in hindsight, instead of that of the receiver and player of the board.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from lab.learners.price_search import search_prices
from vcgym.agents.config.base import PLACES, AbsolutePath, Config
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.zoo import LEARNED, save_learned
from vcgym.conference.env.listening import CALL_SLOTS, MAX_WAIT_US, slot_delays
from vcgym.conference.network.scenario import ConferenceScenario
from vcgym.conference.network.world import ConferenceWorld
from vcgym.conference.rules.celerity import Celerity
from vcgym.conference.rules.learned_allocator import LearnedAllocator
from vcgym.conference.rules.play import play
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.quality import rating

log = logging.getLogger(__name__)

KINDS = ("four-sites", "core-3", "core-6", "core-8", "edge-4", "edge-8", "edge-12")
UTILITY_POINTS = 40.0
FROM_S, WINDOW_S = 30, 5
ON_TIME = (0.8, 0.9, 0.95, 0.98, 0.99)  # shares of slots that a lag waits for
SEARCHED = (
    "softness", "damp", "first_climb", "other_climb", "receivers_power", "fall", "loss_price",
    "gain", "standing_s", "quick_gain", "quick_s", "start_kbps",
)  # fmt: skip
"""Parameters that a search changes."""
_ARRIVALS = 1 << 21
_SLOTS_PER_S = 1_000_000 // SLOT_US
Count = Annotated[int, Field(ge=1)]


class AllocatorConfig(Config):
    """Training of an allocator by search on the true score.

    Attributes:
        kinds: kinds of conferences (`vcgym.conference.network.scenario`).
        worlds: training worlds per kind.
        validation_worlds: validation worlds per kind; they are only reported and decide nothing.
        chunks: number of chunks of the training worlds; each generation plays the next chunk.
        trials: allocators tried.
        population: allocators per generation.
        search_step: initial standard deviation of the search, in natural logarithms of factors.
        seed: seed of the search and of its worlds.
        folder: folder of the gains so far and of the learned system; a search that was stopped resumes there.
    """

    without_effect: ClassVar[frozenset[str]] = PLACES

    kinds: Annotated[list[str], Field(min_length=1)] = Field(default=list(KINDS))
    worlds: Count = 4
    validation_worlds: Count = 2
    chunks: Count = 4
    trials: Count = 40
    population: Annotated[int, Field(ge=4)] = 10
    search_step: Annotated[float, Field(gt=0)] = 0.15
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    folder: AbsolutePath = Path("outputs/train/allocator")

    @field_validator("kinds")
    @classmethod
    def _kinds_exist(cls, kinds: list[str]) -> list[str]:
        for kind in kinds:
            one_of("kind", kind, ConferenceScenario.kinds)
        return kinds

    @model_validator(mode="after")
    def _every_chunk_has_worlds(self) -> Self:
        if self.chunks > self.worlds:
            raise ValueError(f"chunks is {self.chunks}; allowed: at most worlds = {self.worlds}")
        return self


class Conferences:
    """Evaluator of allocators on chunks of conferences.

    Args:
        chunks: worlds of each chunk.
    """

    def __init__(self, chunks: Sequence[Sequence[ConferenceWorld]]) -> None:
        self._chunks = chunks

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._chunks)

    def scores(self, rules: Sequence[Any], chunk: int) -> list[NDArray[np.float64]]:
        """Return, for each allocator, the score of each conference of a chunk."""
        return [np.array([outcome(one, world) for world in self._chunks[chunk]]) @ (UTILITY_POINTS, 1.0) for one in rules]


def outcome(allocator: Any, world: ConferenceWorld) -> tuple[float, float]:
    """Return utility and R of an allocator in a world of at least two calls."""
    played = play(world, allocator, _ARRIVALS)
    utility = np.log(played.window_kbps(FROM_S, WINDOW_S) + Celerity().delta_kbps).mean()
    slots, parties = int(world.seconds * 1e6) // SLOT_US, range(len(played.emitted))
    r = []
    for m in parties:
        log = played.log[played.log["session"] == m]
        r += [best_rating(slot_delays(log, j, int(played.emitted[m]), slots)) for j in parties if j != m]
    return float(utility), float(np.mean(r))


def best_rating(delay_us: NDArray[np.int64]) -> float:
    """Return R of a stream, mean over its calls but the first, each with the best of a few constant lags.

    Args:
        delay_us: (slots,) delays of its slots, or LOST.
    """
    calls = len(delay_us) // CALL_SLOTS
    delays = np.where(delay_us == LOST, MAX_WAIT_US, delay_us)[CALL_SLOTS : calls * CALL_SLOTS].reshape(calls - 1, CALL_SLOTS)
    lags_ms = np.quantile(delays, ON_TIME, axis=1) / 1000.0
    return float(rating(lags_ms, 1.0 - np.array(ON_TIME)[:, None]).max(axis=0).mean())


def train_allocator(config: AllocatorConfig, on_progress: Callable[[int, str], None]) -> dict[str, float]:
    """Search, save the learned system in the folder of `config`, and return its and Celerity's mean utility and R on validation worlds."""
    config.folder.mkdir(parents=True, exist_ok=True)
    seeds = range(config.seed * config.worlds, (config.seed + 1) * config.worlds)
    chunks = [_worlds(config, "train", seeds[chunk :: config.chunks]) for chunk in range(config.chunks)]
    factors = search_prices(
        np.zeros(len(SEARCHED)), np.ones(len(SEARCHED)), Conferences(chunks), config.trials, config.population, config.search_step,
        config.seed, config.folder / "gains.jsonl", lambda trials, gain, _: on_progress(trials, f"best gain {gain:.2f}"), _allocator_of,
    )  # fmt: skip
    learned = _allocator_of(factors)
    validation = _worlds(config, "validation", range(config.validation_worlds))
    utility, r = {}, {}
    for name, rule in {"CELERITY": Celerity(), LEARNED: learned}.items():
        utility[name], r[name] = np.mean([outcome(rule, world) for world in validation], axis=0).round(3).tolist()
    played = [world for generation in range(-(-config.trials // config.population)) for world in chunks[generation % config.chunks]]
    slots = config.population * sum(_SLOTS_PER_S * int(world.seconds) for world in played)
    budget = {"packets": slots, "worlds": len(seeds) * len(config.kinds)}
    study = {"config": config.decisive(), "seed": config.seed, "budget": budget, "validation": {"utility": utility, "r": r}}
    source = f"python -m lab train-allocator on the training split of conferences {', '.join(config.kinds)}; packets are slots of 10 ms"
    description = f"Celerity with a smooth cut, damped steps and learned constants, shared by all links and sessions, seed {config.seed}"
    save_learned(config.folder, LEARNED, {"trees": learned}, study, description, source)
    return {f"{name} {what}": value for what, found in (("utility", utility), ("R", r)) for name, value in found.items()}


def _worlds(config: AllocatorConfig, split: str, seeds: Sequence[int]) -> list[ConferenceWorld]:
    scenario = ConferenceScenario()
    return [scenario.draw(split, seed, kind) for seed in seeds for kind in config.kinds]


def _allocator_of(factors: NDArray[np.float64]) -> LearnedAllocator:
    """Return the allocator whose searched parameters are exp(factors), (len(SEARCHED),), times their defaults."""
    start = LearnedAllocator()
    return start._replace(**{name: float(np.exp(factor) * getattr(start, name)) for name, factor in zip(SEARCHED, factors, strict=True)})


def main(config: AllocatorConfig) -> None:
    """Search, and print utility and R on validation worlds."""
    with progress("allocators", config.trials) as on_progress:
        found = train_allocator(config, on_progress)
    log.info(f"{config.folder}: validation " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
