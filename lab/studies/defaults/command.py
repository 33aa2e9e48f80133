"""python -m lab defaults: train agents of Stable-Baselines3 at its defaults, and score them. See lab/conf/defaults.yaml."""

import json
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import stable_baselines3
import torch
from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.agents.sb3 import make_vec_env
from vcgym.baselines.systems import load_system
from vcgym.network.traces.plain_file import replace_file
from vcgym.scripts.console.command import command
from vcgym.scripts.zoo.scoring import score_agent, score_systems


class Rival(NamedTuple):
    """Rules that the agents of an environment are compared with: the best published one and the best tuned one."""

    published: str
    tuned: str


CALLS = Rival("VIA-BF", "GRD+EWMAH-tuned")
RIVALS = {
    "vcgym/Relay-v1": CALLS,
    "vcgym/Playout-v1": Rival("DRT-WM", "DRT-EWMA-tuned"),
    "vcgym/Call-v1": CALLS,
    "vcgym/Rate-v1": Rival("SCREAM-V2", "SCREAM-V2-rate-tuned"),
    "vcgym/SendOrder-v1": Rival("SBPN2-E", "SBPN2-order-tuned"),
}


class DefaultsConfig(Config):
    """Agents of algorithms with none of their arguments set, on one environment.

    Attributes:
        env: environment; omitted options are the defaults of its id.
        cell: name of the cell, of its files.
        learner: class of Stable-Baselines3.
        seeds: one agent each.
        steps: decisions of each training.
        worlds: validation worlds on which rules and agents are scored.
        rules: further systems to score on these worlds.
        folder: one file for each agent and rule; what is there is not made again.
    """

    env: EnvConfig = Field(default_factory=lambda: EnvConfig(id="vcgym/Call-v1"))
    cell: str = "Call-v1"
    learner: str = "PPO"
    seeds: list[Annotated[int, Field(ge=0, lt=2**31)]] = Field(default=[0])
    steps: Annotated[int, Field(ge=1)] = 100_000
    worlds: Annotated[int, Field(ge=2)] = 200
    rules: list[str] = Field(default=[])
    folder: AbsolutePath = Path("outputs/defaults")


@command("defaults", DefaultsConfig, LAB)
def main(config: DefaultsConfig) -> None:
    """Train and score what is missing in the folder, and print the table of the cell."""
    config.folder.mkdir(parents=True, exist_ok=True)
    rival = RIVALS.get(config.env.id, CALLS)
    rules = {name: _rule(config, name) for name in dict.fromkeys((*rival, *config.rules))}
    console = Console()
    for name, scores in rules.items():
        console.print(f"{config.env.id} {name}: {np.mean(scores):.3f}", soft_wrap=True)
    for seed in config.seeds:
        made = _agent(config, seed)
        against = ", ".join(f"{difference(made['scores'], rules[name])} to {name}" for name in rival)
        console.print(
            f"{config.cell} {config.learner} seed {seed}: {np.mean(made['scores']):.3f}, {against}, {made['cpu_s']:.0f} s", soft_wrap=True
        )  # fmt: skip


def difference(scores: list[float], others: list[float]) -> str:
    """Return the mean paired difference over worlds with its 95 % interval (normal)."""
    paired = np.array(scores) - np.array(others)
    return f"{paired.mean():+.3f} ± {1.96 * paired.std(ddof=1) / np.sqrt(len(paired)):.3f}"


def _kept(path: Path, make: Any) -> Any:
    if not path.is_file():
        replace_file(path, json.dumps(make()).encode())
    return json.loads(path.read_bytes())


def _rule(config: DefaultsConfig, name: str) -> list[float]:
    env = config.env.id.removeprefix("vcgym/")
    path = config.folder / f"rule-{env}-{name}-{config.worlds}.json"
    return _kept(path, lambda: score_systems(config.env.id, [load_system(name)], config.worlds)[0])


def _agent(config: DefaultsConfig, seed: int) -> Any:
    stem = f"{config.cell}-{config.learner}-{seed}"

    def make() -> dict[str, Any]:
        torch.set_num_threads(1)
        began_s = time.process_time()
        envs = make_vec_env(config.env.id, env_kwargs=config.env.options)
        model = getattr(stable_baselines3, config.learner)("MlpPolicy", envs, seed=seed)
        model.learn(config.steps)
        cpu_s = time.process_time() - began_s
        model.save(config.folder / f"{stem}.zip")
        scores = score_agent(OwnPolicy(model), config.env.id, config.env.options, config.worlds)
        return {"cpu_s": cpu_s, "scores": scores, "steps": config.steps}

    return _kept(config.folder / f"{stem}-{config.worlds}.json", make)
