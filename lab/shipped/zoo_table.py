"""Add trainings to data/zoo_runs.csv and to the page lab/notes/zoo.md: ``python -m lab.shipped.zoo_table FOLDER``.

FOLDER is that of `vcgym zoo`; a training that ships already is replaced. The page keeps its words.
"""

import sys
from pathlib import Path

from vcgym.scripts.zoo.config import PAGE, RUNS, ZooConfig
from vcgym.scripts.zoo.page import write_page
from vcgym.scripts.zoo.runs import read_runs, write_runs

HOME = Path(__file__).resolve().parents[2]
SHIPPED = HOME / "data" / RUNS


def main() -> None:
    """Write table, page and picture."""
    add(ZooConfig(folder=Path(sys.argv[1]).absolute()), SHIPPED, HOME / "lab" / "notes" / PAGE)


def add(config: ZooConfig, shipped: Path, page: Path) -> None:
    """Add the trainings in a folder of the zoo to the shipped ones, and write the page."""
    runs = read_runs(shipped) | read_runs(config.runs)
    write_runs(shipped, runs)
    write_page(page, runs, config.decisions, config.worlds)
    print(f"{shipped}: {len(runs)} trainings")


if __name__ == "__main__":
    main()
