"""Write lab/shipped/difficulty.csv, what harder settings of the environments are worth: ``python -m lab.shipped.difficulty``.

Scores as in the zoo (`vcgym.scripts.zoo.scoring`), on the first validation worlds: of the best published and of the best tuned rule at an
id's defaults, of PPO with its defaults after 100,000 decisions at the setting (one seed), and of random actions. Rules decide when they
like, so `interval` changes the scores of agents alone. The first row of an id is the default. `lab.shipped.env_tables` shows the table.
"""

from pathlib import Path
from typing import Any

import gymnasium
import torch

from lab.shipped.zoo_references import RandomActions, rivals
from vcgym.agents.config.algorithms import LibraryConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.play import Policy
from vcgym.agents.training.learners import build_model, fitting, snapshot
from vcgym.scripts.zoo.runs import Reference, write_references
from vcgym.scripts.zoo.scoring import score_agent, score_systems

WORLDS = 30
DECISIONS = 100_000
FILE = Path(__file__).with_name("difficulty.csv")
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "vcgym/Relay-v1": [{}, {"interval": 10}, {"scenario": "measured-like-5"}, {"scenario": "measured-like-17"}],
    "vcgym/Playout-v1": [{}, {"interval": 1}, {"scenario": "measured-like-5"}],
    "vcgym/Call-v1": [{}, {"interval": 10}, {"scenario": "measured-like-5"}, {"scenario": "measured-like-17"}],
    "vcgym/Rate-v1": [{}, {"interval": 20}],
    "vcgym/SendOrder-v1": [{}, {"interval": 1}],
}


def main() -> None:
    """Score rules and agents at each setting, and write the table."""
    torch.set_num_threads(1)
    found = [one for env_id, settings in SETTINGS.items() for options in settings for one in _at(env_id, options)]
    write_references(found, FILE, "lab.shipped.difficulty")
    print(f"{FILE}: {len(found)} rows")


def _at(env_id: str, options: dict[str, Any]) -> list[Reference]:
    name = " ".join((env_id.removeprefix("vcgym/"), *(f"{name}={value}" for name, value in options.items())))
    worlds = {"scenario": options["scenario"]} if "scenario" in options else {}
    rules = [
        Reference(name, role, rule, score_systems(env_id, [system], WORLDS, **worlds)[0])
        for role, (rule, system) in rivals(env_id).items()
        if role != "learned"
    ]
    options = options | {"action": fitting("PPO", EnvConfig(id=env_id, options=options))}
    space = gymnasium.make(env_id, **options).action_space
    played = [
        Reference(name, role, agent, score_agent(policy, env_id, options, WORLDS))
        for role, agent, policy in (("trained", "PPO", _trained(env_id, options)), ("random", "random actions", RandomActions(space)))
    ]
    print(name, *(f"{one.role} {sum(one.scores) / WORLDS:.3f}" for one in (*rules, *played)), flush=True)
    return [*rules, *played]


def _trained(env_id: str, options: dict[str, Any]) -> Policy:
    """Return what PPO with its defaults has learned with seed 0."""
    env = EnvConfig(id=env_id, options=options)
    training = TrainConfig(env=env, algorithm=LibraryConfig(name="PPO"), steps=DECISIONS, num_envs=1, seeds=[0], device="cpu")
    model = build_model(training, 0)
    model.learn(DECISIONS)
    return snapshot(model, training)


if __name__ == "__main__":
    main()
