"""python -m lab train-pair: train a router and a lag that run inside the loop. See lab/conf/train_pair.yaml."""

import logging

from lab.commands import LAB
from lab.learners.pair_config import PairConfig
from lab.learners.study import run_pairs
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("train_pair", PairConfig, LAB)
def main(config: PairConfig) -> None:
    """Train the pairs and print their folders."""
    for pair in run_pairs(config):
        log.info(f"{pair.folder}: validation R " + ", ".join(f"{stage} {r:.2f}" for stage, r in pair.validation_r.items()))


if __name__ == "__main__":
    main()
