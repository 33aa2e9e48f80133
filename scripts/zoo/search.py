"""Random search of the arguments of algorithms on training worlds, as entries of conf/zoo_arguments.yaml for algorithms and environments.

A trial is a training of the zoo that is scored on training worlds, so a killed search goes on. The first trial has the defaults. The others
draw learning rate, horizon 1 / (1 - gamma), width of the network and one argument of the algorithm, all at once: Bergstra and Bengio 2012
(JMLR 13, 281-305) say why not on a grid.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import yaml

from vcgym.agents.sweeps.search import Domain
from vcgym.network.traces.plain_file import replace_file
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import FOUND, ZooConfig, ZooTraining, pair

COMMON = {
    "learning_rate": Domain(low=1e-4, high=3e-3, log=True),
    "horizon": Domain(low=5, high=200, log=True, whole=True),
    "width": Domain(choices=[32, 64, 128]),
}
SPACES = {
    "PPO": COMMON | {"n_steps": Domain(choices=[256, 512, 1024, 2048])},
    "A2C": COMMON | {"n_steps": Domain(choices=[5, 16, 64])},
    "DQN": COMMON | {"target_update_interval": Domain(choices=[300, 1000, 3000, 10_000])},
    "SAC": COMMON | {"batch_size": Domain(choices=[64, 128, 256])},
}
"""Algorithm -> ranges. The defaults lie within, but for SAC's two layers of 256 units."""


class ZooTrial(NamedTuple):
    """Training of a search: its config, with the drawn arguments as those of its pair, and the arguments alone."""

    config: ZooConfig
    cell: ZooTraining
    arguments: dict[str, Any]


def trials_of(config: ZooConfig) -> list[ZooTrial]:
    """Return the trials of each algorithm on each environment, in this order; every pair draws the same sequence from its ranges.

    Raises:
        ValueError: an algorithm has no ranges.
    """
    if unknown := [name for name in config.algorithms if name not in SPACES]:
        raise ValueError(f"algorithms is {unknown}; allowed with trials: {', '.join(SPACES)}")
    return [
        ZooTrial(_config_of(config, pair(cell.algorithm, cell.env), number, arguments), cell, arguments)
        for cell in config.model_copy(update={"seeds": config.seeds[:1], "tuned": False}).cells()
        for number, arguments in enumerate(drawn(cell.algorithm, config.trials, config.seeds[0]))
    ]


def drawn(algorithm: str, trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the arguments of each trial; none for the first."""
    draws = np.random.default_rng(seed)
    values = [{name: domain.to_ray().sample(random_state=draws) for name, domain in SPACES[algorithm].items()} for _ in range(trials - 1)]
    return [{}, *map(_arguments, values)]


def _arguments(values: dict[str, Any]) -> dict[str, Any]:
    own = {name: int(value) for name, value in values.items() if name not in COMMON}
    width = int(values["width"])
    common = {"learning_rate": float(f"{values['learning_rate']:.2g}"), "gamma": round(1.0 - 1.0 / int(values["horizon"]), 4)}
    return common | own | {"policy_kwargs": {"net_arch": [width, width]}}


def _config_of(config: ZooConfig, name: str, number: int, arguments: dict[str, Any]) -> ZooConfig:
    home = config.folder / f"{name.replace('/', '-')}-trial-{number}"
    set_elsewhere = config.arguments.get(name, {})
    changed = {"arguments": config.arguments | {name: set_elsewhere | arguments}, "folder": home, "points": 1}
    return config.model_copy(update=changed)


def write_found(config: ZooConfig, trained: Iterable[tuple[ZooTrial, list[CurvePoint]]]) -> None:
    """Write the best arguments of each pair that has had all its trials, none if the defaults were best, with budget and scores."""
    written = {}
    in_order = sorted(trained, key=lambda one: one[0].cell)
    for cell, group in groupby(in_order, key=lambda one: one[0].cell):
        its = list(group)
        if len(its) < config.trials:
            continue
        best, points = max(its, key=lambda one: one[1][-1].score)
        default = next(curve[-1].score for trial, curve in its if not trial.arguments)
        budget = {"trials": len(its), "decisions": config.decisions, "seed": cell.seed, "worlds": config.worlds}
        scores = {"default": default, "best": points[-1].score}
        minutes = {"cpu_minutes": round(sum(curve[-1].cpu_s for _, curve in its) / 60.0, 1)}
        written[pair(cell.algorithm, cell.env)] = {"arguments": best.arguments, "search": budget | minutes | scores}
    replace_file(config.folder / FOUND, yaml.safe_dump(written, sort_keys=False, default_flow_style=None, width=140).encode())
