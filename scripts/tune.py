"""vcgym-tune: search the parameters of rules on the training split as conf/tune.yaml says, and save the best as files of data/tuned."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vcgym.agents.sweeps.search import Domain, ray_running
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.tuning.tunable import space_of
from vcgym.leaderboard.tuning.tune_config import TuneConfig, load_spaces
from vcgym.leaderboard.tuning.tuning import Search, TuningTask, save, tune_system
from vcgym.scripts.command import command

log = logging.getLogger(__name__)


@command("tune", TuneConfig)
def main(config: TuneConfig) -> None:
    """Search each system that is not kept, print the gains."""
    spaces, systems, senders = load_spaces(), load_systems(config.systems), load_systems(config.sending.senders)
    with ray_running(config.workers, config.ray.address):
        for name, pair in systems.items():
            _tune(name, pair, space_of(pair, spaces), config.task(), config.how(config.trials), config.folder)
        for task in config.sending.tasks():
            for name, sender in senders.items():
                _tune(name, sender, space_of(sender, spaces), task, config.how(config.sending.trials), config.folder)


def _tune(name: str, system: Any, space: Mapping[str, Domain], task: TuningTask, how: Search, folder: Path) -> None:
    tuned = tune_system(name, system, space, task, how, folder)
    save(tuned, task, folder)
    log.info(f"{task.name(name)}: train {tuned.study['train']}, validation {tuned.study['validation']}")


if __name__ == "__main__":
    main()
