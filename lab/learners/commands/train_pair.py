"""python -m lab train-pair: train a router and a lag that run inside the loop."""

import logging

from lab.learners.pair_config import PairConfig
from lab.learners.study import run_pairs

log = logging.getLogger(__name__)


def main(config: PairConfig) -> None:
    """Train the pairs and print their folders."""
    for pair in run_pairs(config):
        log.info(f"{pair.folder}: validation R " + ", ".join(f"{stage} {r:.2f}" for stage, r in pair.validation_r.items()))
