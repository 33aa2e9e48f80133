"""vcgym-data: list, verify, import or download measured data, as conf/data.yaml says."""

import sys

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.network.traces.cards import DataError
from vcgym.scripts.data_command import DataCommand, run
from vcgym.scripts.schema import CONF, build


@hydra.main(version_base="1.3", config_path=CONF, config_name="data")
def main(composed: DictConfig) -> None:
    """Compose, do it; data that is refused ends with its error and status 1."""
    try:
        run(build(composed, DataCommand), Console() if Console().is_terminal else Console(width=160))
    except DataError as error:
        sys.exit(f"vcgym-data: {error}")


if __name__ == "__main__":
    main()
