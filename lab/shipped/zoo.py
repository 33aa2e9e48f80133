"""Ship trainings of the zoo: ``python -m lab.shipped.zoo FOLDER``, the folder of `vcgym zoo`.

Its trainings are added to data/zoo_runs.csv and to the page lab/notes/zoo.md, which keeps its words; one that ships already is replaced.
Then data/agents gets the best agents: of the trainings in data/zoo_runs.csv of an algorithm with a flat policy on an environment, the one
with the best last score on the validation worlds ships, if FOLDER has it; what ships already is kept.
"""

import itertools
import shutil
import sys
from pathlib import Path

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.own_policy import load_own
from vcgym.agents.published.export import publish, read_card
from vcgym.agents.training.flat_policy import flat_policy
from vcgym.envs import DIFFICULTIES
from vcgym.network.traces.plain_file import require_space
from vcgym.scripts.zoo.cell import AGENT, train_config
from vcgym.scripts.zoo.config import PAGE, RUNS, ZooConfig, ZooTraining
from vcgym.scripts.zoo.page import write_page
from vcgym.scripts.zoo.runs import Curves, read_runs, write_runs

FLAT = ("PPO", "A2C", "TRPO", "ARS", "DQN")
CHECKOUT = Path(__file__).resolve().parents[2]
SHIPPED = CHECKOUT / "data" / RUNS
HOME = CHECKOUT / "data" / "agents"


def main() -> None:
    """Write table, page and picture, then the agents that do not ship yet, and say which are not there."""
    config = ZooConfig(folder=Path(sys.argv[1]).absolute())
    add(config, SHIPPED, CHECKOUT / "lab" / "notes" / PAGE)
    require_space(HOME)
    for cell in best(read_runs(SHIPPED), config.decisions):
        home = HOME / name_of(cell)
        if home.is_dir() and read_card(home).seed == cell.seed:
            continue
        shutil.rmtree(home, ignore_errors=True)
        if (config.folder / str(cell) / AGENT).is_file():
            ship(config, cell, home)
        else:
            print(f"{home}: seed {cell.seed} is not in {config.folder}")


def add(config: ZooConfig, shipped: Path, page: Path) -> None:
    """Add the trainings in a folder of the zoo to the shipped ones, and write the page."""
    runs = read_runs(shipped) | read_runs(config.runs)
    write_runs(shipped, runs)
    write_page(page, runs, config.decisions, config.worlds)
    print(f"{shipped}: {len(runs)} trainings")


def best(curves: Curves, decisions: int) -> list[ZooTraining]:
    """Return the training of each algorithm and environment that ends with the best score, of those that had so many decisions.

    None of an environment with a difficulty, whose agents are of the one without.
    """
    plain = [cell for cell in curves if cell.env not in DIFFICULTIES and cell.algorithm in FLAT]
    fits = [cell for cell in plain if cell.planned == decisions <= curves[cell][-1].decisions]
    in_cells = itertools.groupby(sorted(fits), key=lambda cell: (cell.env, cell.algorithm))
    return [max(cells, key=lambda cell: curves[cell][-1].score) for _, cells in in_cells]


def name_of(cell: ZooTraining) -> str:
    """Return the name that an agent has in data/agents."""
    return f"{cell.algorithm}-{cell.env.removeprefix('vcgym/')}"


def ship(config: ZooConfig, cell: ZooTraining, home: Path) -> None:
    """Publish the agent of one training."""
    envs = make_envs(EnvConfig(id=cell.env), 1, "validation")
    model = load_own(str(config.folder / str(cell) / AGENT))
    agent = flat_policy(model, cell.env, observation_parts(envs, flat=True))
    envs.close()
    digest = train_config(config, cell).digest()
    publish(home, agent, algorithm=f"SB3-{cell.algorithm}", steps=model.num_timesteps, seed=cell.seed, config_hash=digest)
    print(f"{home}: seed {cell.seed}")


if __name__ == "__main__":
    main()
