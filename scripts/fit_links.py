"""Fit the shipped link parameters again: `python -m vcgym.scripts.fit_links data.root=FOLDER` writes data/wonderproxy_ten_places.json."""

from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig

from vcgym.network.cards import data_root
from vcgym.network.fitting import write_ten_places

ConfigStore.instance().store("fit_links", {"data": {"root": None}, "output": "data/wonderproxy_ten_places.json"})


@hydra.main(version_base="1.3", config_path=None, config_name="fit_links")
def main(config: DictConfig) -> None:
    """Fit and write."""
    write_ten_places(data_root(config.data.root), Path(config.output))


if __name__ == "__main__":
    main()
