"""vcgym-tune: search the parameters of rules on the training split as conf/tune.yaml says, and keep the best as systems."""

import logging
from importlib.resources import files

import hydra
from omegaconf import DictConfig, OmegaConf

from vcgym.agents.search import Domain, ray_running
from vcgym.leaderboard.tunable import space_of
from vcgym.leaderboard.tune_config import TuneConfig, TunedRule
from vcgym.leaderboard.tuning import Budget, keep, kept, tune_pair
from vcgym.scripts.schema import CONF, build, register
from vcgym.scripts.systems import load_systems

register()
log = logging.getLogger(__name__)


def load_spaces() -> dict[str, dict[str, Domain]]:
    """Where the parameters of each rule of conf/tune are drawn.

    Raises:
        ValueError: a file is not as `TunedRule` says.
    """
    found = {}
    for file in sorted(files("vcgym.conf").joinpath("tune").iterdir(), key=lambda file: file.name):
        rule = TunedRule.model_validate(OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8"))))
        found[rule.rule] = rule.parameters
    return found


@hydra.main(version_base="1.3", config_path=CONF, config_name="tune")
def main(composed: DictConfig) -> None:
    """Compose, search each system that has no study yet, say what it brought."""
    config = build(composed, TuneConfig)
    spaces, systems = load_spaces(), load_systems(config.systems)
    budget = Budget(**{name: getattr(config, name) for name in Budget._fields})
    with ray_running(config.workers, config.ray.address):
        for name, pair in systems.items():
            space = space_of(pair, spaces)
            if kept(name, space, budget, config.folder):
                log.info(f"{name}: its study is in {config.folder}")
                continue
            tuned = tune_pair(name, pair, space, budget, config.workers)
            keep(tuned, config.folder)
            log.info(f"{name}: train {tuned.study['train']}, validation {tuned.study['validation']}")


if __name__ == "__main__":
    main()
