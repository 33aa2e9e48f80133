"""python -m lab train-order: search the weights of a learned send order, from weights of 0 (first in, first out)."""

import logging

from lab.learners.order_search import OrderConfig, train_order
from vcgym.agents.tracking.progress import progress

log = logging.getLogger(__name__)


def main(config: OrderConfig) -> None:
    """Search once per seed, save each as a learned system and print its gain over the rules on validation worlds."""
    for seed in config.seeds:
        with progress(f"send orders of seed {seed}", config.trials) as on_progress:
            found = train_order(config, seed, lambda trials, gain: on_progress(trials, f"best gain {gain:.3f}"))
        log.info(f"{config.folder / f'seed-{seed}'}: validation {found}")
