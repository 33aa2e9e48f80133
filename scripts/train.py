"""vcgym-train: train agents as conf/train.yaml says."""

import logging

import hydra
from omegaconf import DictConfig

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.training.study import run_study
from vcgym.scripts.schema import CONF, build, register

register()
log = logging.getLogger(__name__)


@hydra.main(version_base="1.3", config_path=CONF, config_name="train")
def main(composed: DictConfig) -> None:
    """Compose, train, say where the agents are."""
    for trained in run_study(build(composed, TrainConfig)):
        log.info(f"{trained.agent}: validation return {trained.validation.return_mean:.3f} after {trained.steps:,} transitions")


if __name__ == "__main__":
    main()
