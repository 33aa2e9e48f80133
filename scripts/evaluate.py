"""vcgym-evaluate: play a published agent as conf/evaluate.yaml says."""

import logging

import hydra
from omegaconf import DictConfig

from vcgym.agents.config.training import EvaluateConfig
from vcgym.agents.evaluation.evaluate import evaluate_agent
from vcgym.scripts.schema import CONF, build, register

register()
log = logging.getLogger(__name__)


@hydra.main(version_base="1.3", config_path=CONF, config_name="evaluate")
def main(composed: DictConfig) -> None:
    """Compose, evaluate, say how good the agent is."""
    config = build(composed, EvaluateConfig)
    result = evaluate_agent(config)
    log.info(f"{config.agent}: return {result.return_mean:.3f}, sd {result.return_sd:.3f}, over {result.episodes} {config.split} episodes")


if __name__ == "__main__":
    main()
