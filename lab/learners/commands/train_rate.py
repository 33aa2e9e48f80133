"""python -m lab train-rate: search the weights of a learned rate over rmcat, measured traces and other flows."""

import logging
from functools import partial

import numpy as np

from lab.learners.rate_search import RateConfig, search_weights
from vcgym.agents.controllers.learned_rate import LearnedRate
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.zoo import LEARNED, save_learned
from vcgym.leaderboard.cache import cached_document

log = logging.getLogger(__name__)


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
