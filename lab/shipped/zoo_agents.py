"""Write data/agents, the best agent of the zoo on each environment: ``python -m lab.shipped.zoo_agents FOLDER``.

FOLDER is that of `vcgym zoo`. Of the trainings of an environment whose algorithm has a flat policy, the one with the best last score on
the validation worlds ships.
"""

import shutil
import sys
from pathlib import Path

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.own_policy import load_own
from vcgym.agents.published.export import publish
from vcgym.agents.training.flat_policy import flat_policy
from vcgym.network.traces.plain_file import require_space
from vcgym.scripts.zoo.cell import AGENT, train_config
from vcgym.scripts.zoo.config import ENVIRONMENTS, ZooConfig, ZooTraining
from vcgym.scripts.zoo.runs import Curves, read_runs

FLAT = ("PPO", "A2C", "TRPO", "DQN")
HOME = Path(__file__).resolve().parents[2] / "data" / "agents"


def main() -> None:
    """Write the agents anew."""
    config = ZooConfig(folder=Path(sys.argv[1]).absolute())
    require_space(HOME)
    shutil.rmtree(HOME, ignore_errors=True)
    for cell in best(read_runs(config.runs), config.decisions):
        ship(config, cell)


def best(curves: Curves, decisions: int) -> list[ZooTraining]:
    """Return the training of each environment that ends with the best score, of those planned for so many decisions."""
    fits = [cell for cell in curves if cell.planned == decisions and cell.algorithm in FLAT]
    found = [[cell for cell in fits if cell.env == env] for env in ENVIRONMENTS]
    return [max(cells, key=lambda cell: curves[cell][-1].score) for cells in found if cells]


def ship(config: ZooConfig, cell: ZooTraining) -> None:
    """Publish the agent of one training."""
    envs = make_envs(EnvConfig(id=cell.env), 1, "validation")
    model = load_own(str(config.folder / str(cell) / AGENT))
    agent = flat_policy(model, cell.env, observation_parts(envs, flat=True))
    envs.close()
    digest, name = train_config(config, cell).digest(), f"{cell.algorithm}-{cell.env.removeprefix('vcgym/')}"
    publish(HOME / name, agent, algorithm=f"SB3-{cell.algorithm}", steps=model.num_timesteps, seed=cell.seed, config_hash=digest)
    print(f"{HOME / name}: seed {cell.seed}")


if __name__ == "__main__":
    main()
