"""python -m lab train-whole: search the weights of a learned send order on whole calls."""

import logging

from lab.learners.whole_search import WholeConfig, train_whole
from vcgym.agents.tracking.progress import progress

log = logging.getLogger(__name__)


def main(config: WholeConfig) -> None:
    """Search once per seed, save each as a learned system and print its gain over first in, first out on validation worlds."""
    for seed in config.seeds:
        with progress(f"send orders of whole calls, seed {seed}", config.trials) as on_progress:
            found = train_whole(config, seed, lambda trials, gain: on_progress(trials, f"best gain {gain:.3f}"))
        log.info(f"{config.folder / f'seed-{seed}'}: validation {found}")
