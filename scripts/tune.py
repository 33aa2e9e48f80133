"""vcgym tune: search the parameters of rules on the training split and save the best as files for data/tuned. See conf/tune.yaml."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vcgym.agents.sweeps.search import Domain, ray_running
from vcgym.baselines.configured import target
from vcgym.baselines.systems import System, load_study, load_system, load_systems
from vcgym.leaderboard.tuning.pair_files import save_pairs
from vcgym.leaderboard.tuning.tunable import space_of
from vcgym.leaderboard.tuning.tune_config import PairModeConfig, PairsConfig, TuneConfig, load_spaces
from vcgym.leaderboard.tuning.tune_pairs import Round, Rules, receiver_name, router_name, tune_pairs
from vcgym.leaderboard.tuning.tuning import Search, TuningTask, save, tune_system
from vcgym.network.traces.plain_file import require_space
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("tune", TuneConfig)
def main(config: TuneConfig) -> None:
    """Search each system without a saved result and print the gains."""
    require_space(config.folder)
    spaces, systems, senders = load_spaces(), load_systems(config.systems), load_systems(config.sending.senders)
    with ray_running(config.workers, config.ray.address):
        for name, pair in systems.items():
            _tune(name, pair, space_of(pair, spaces), config.task(), config.how(config.trials), config.folder)
        for task in config.sending.tasks(config.trace_files):
            for name, sender in senders.items():
                _tune(name, sender, space_of(sender, spaces), task, config.how(config.sending.trials), config.folder)
        for one in config.pairs.modes:
            rules, task = _rules(config.pairs, one), config.pair_task(one)
            rounds = [Round(each.trials, each.worlds, each.left) for each in one.rounds]
            studied = tune_pairs(rules, spaces, _known(config.pairs.starts), task, rounds, config.seed, config.folder)
            save_pairs(studied, task, config.pair_judge(one), rounds, config.seed, config.folder)
            log.info(f"pairs, mode {one.mode}: {studied.best} of {len(studied.expected)} is the best on validation worlds")


def _rules(config: PairsConfig, one: PairModeConfig) -> Rules:
    """Return the routers and receivers to be paired, by their short names."""
    return Rules(
        {router_name(name): load_system(name).path for name in config.routers},
        {receiver_name(name): load_system(name).playout for name in config.receivers},
        System(load_system(one.router).path, load_system(one.receiver).playout),
    )


def _known(names: list[str]) -> dict[str, Any]:
    """Return the rules of tuned systems by class; if two have the same class, the rule of the better system."""
    known: dict[str, Any] = {}
    for name in sorted(names, key=lambda name: -load_study(name)["validation"]["r_tuned"]):
        for rule in load_system(name).rules.values():
            known.setdefault(target(rule), rule)
    return known


def _tune(name: str, system: Any, space: Mapping[str, Domain], task: TuningTask, how: Search, folder: Path) -> None:
    tuned = tune_system(name, system, space, task, how, folder)
    save(tuned, task, folder)
    left_out = tuned.study["left_out"]
    log.info(f"{task.name(name)}: {tuned.study['train']}, on kinds left out {left_out['gain']} [{left_out['low']}, {left_out['high']}]")


if __name__ == "__main__":
    main()
