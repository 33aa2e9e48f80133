"""vcgym sweep: search PPO's learning rate and entropy coefficient. See conf/sweep.yaml."""

import logging

from vcgym.agents.config.training import SweepConfig
from vcgym.agents.sweeps.sweep import run_sweep
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("sweep", SweepConfig)
def main(config: SweepConfig) -> None:
    """Run the sweep; print the best agent's folder and values."""
    best = run_sweep(config)
    values = f"learning_rate={best.learning_rate:.3g} ent_coef={best.ent_coef:.3g}"
    log.info(f"{best.agent}: {values}: validation return {best.return_mean:.3f}")


if __name__ == "__main__":
    main()
