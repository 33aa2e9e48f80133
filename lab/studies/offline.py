"""Rows of the offline track: ``python -m lab.studies.offline [FOLDER [ENV]]`` makes sets, trains on them, and prints a table of each id.

For each id: the best tuned rule, PPO online, and for each set its behaviour policy, cloning and implicit Q-learning. Scores are those of
the zoo (R; utility per second) on validation worlds, as means over seeds; differences are to the tuned rule in the same worlds, with 95 %
intervals over worlds. What is in FOLDER already is not made again. Minutes of one core.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lab.shipped.zoo_references import RIVALS
from vcgym.agents.config.algorithms import OfflineConfig, PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.offline.behaviour import BEHAVIOURS, behaviour_of
from vcgym.agents.offline.recorded import record, set_id, write_set
from vcgym.agents.published.export import load_agent
from vcgym.agents.training.training import train
from vcgym.baselines.systems import load_system
from vcgym.scripts.zoo.scoring import score_agent, score_systems

WORLDS, SEEDS = 200, (0, 1, 2)
CALLS = {"vcgym/Call-v1": 1000, "vcgym/Rate-v1": 400}  # some 110,000 decisions each


def _trained(env: EnvConfig, algorithm: Any, folder: Path) -> list[NDArray[np.float64]]:
    """Return the scores (worlds,) of the agent of each seed, which is trained unless it is there."""
    config = TrainConfig(env=env, algorithm=algorithm, folder=folder)
    homes = [folder / f"seed-{seed}" / "agent" for seed in SEEDS]
    agents = [load_agent(home if home.exists() else train(config, seed).agent) for seed, home in zip(SEEDS, homes, strict=True)]
    return [np.array(score_agent(agent, env.id, {}, WORLDS)) for agent in agents]


def _row(name: str, of_seeds: list[NDArray[np.float64]], tuned: NDArray[np.float64]) -> None:
    above = np.mean(of_seeds, axis=0) - tuned
    seeds = " ".join(f"{scores.mean():.3f}" for scores in of_seeds)
    half = 1.96 * above.std(ddof=1) / np.sqrt(len(above))
    print(f"| {name} | {np.mean(of_seeds):.3f} | {above.mean():+.3f} ± {half:.3f} | {seeds if len(of_seeds) > 1 else ''} |", flush=True)


def rows(home: Path, env: EnvConfig) -> None:
    """Print the table of an environment; sets and agents lie in `home`."""
    name = RIVALS[env.id].tuned
    tuned = np.array(score_systems(env.id, [load_system(name)], WORLDS)[0])
    print(f"\n| {env.id}, {WORLDS} validation worlds | score | less the tuned rule | seeds |\n| --- | ---: | ---: | ---: |")
    _row(name, [tuned], tuned)
    envs = make_envs(env, 1, "validation")
    for behaviour in BEHAVIOURS:
        dataset = home / set_id(env.id, behaviour)
        if not dataset.exists():
            write_set(home, env, behaviour, list(record(env, behaviour, CALLS[env.id], 0, "train")))
        _row(f"{behaviour}: its behaviour", [np.array(score_agent(behaviour_of(behaviour, envs, 0), env.id, {}, WORLDS))], tuned)
        for algorithm in ("BC", "IQL"):
            learned = _trained(env, OfflineConfig(name=algorithm, dataset=dataset), home / algorithm.lower() / set_id(env.id, behaviour))
            _row(f"{behaviour}: {algorithm}", learned, tuned)
    envs.close()
    _row("PPO online", _trained(env, PPOConfig(), home / "ppo" / env.id), tuned)


def main() -> None:
    """Print the tables of the ids that are named, or of all."""
    torch.set_num_threads(1)
    home = Path(sys.argv[1] if sys.argv[1:] else "outputs/offline").absolute()
    for env_id in sys.argv[2:] or CALLS:
        rows(home, EnvConfig(id=env_id))


if __name__ == "__main__":
    main()
