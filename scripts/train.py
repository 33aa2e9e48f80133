"""vcgym train: train agents with PPO, maskable PPO or SAC, one per seed. See conf/train.yaml."""

import logging

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.training.study import run_study
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("train", TrainConfig)
def main(config: TrainConfig) -> float:
    """Train the agents and print their folders; return the mean validation return of the seeds."""
    results = run_study(config)
    for trained in results:
        log.info(f"{trained.agent}: validation return {trained.validation.return_mean:.3f} after {trained.steps:,} transitions")
    return sum(trained.validation.return_mean for trained in results) / len(results)


if __name__ == "__main__":
    main()
