"""vcgym-sweep: search PPO's numbers as conf/sweep.yaml says."""

import logging

import hydra
from omegaconf import DictConfig

from vcgym.agents.config.training import SweepConfig
from vcgym.agents.sweeps.sweep import run_sweep
from vcgym.scripts.schema import CONF, build, register

register()
log = logging.getLogger(__name__)


@hydra.main(version_base="1.3", config_path=CONF, config_name="sweep")
def main(composed: DictConfig) -> None:
    """Compose, search, say which values won."""
    best = run_sweep(build(composed, SweepConfig))
    log.info(f"learning_rate={best.learning_rate:.3g} ent_coef={best.ent_coef:.3g}: validation return {best.return_mean:.3f}")


if __name__ == "__main__":
    main()
