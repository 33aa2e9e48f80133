"""Fit the shipped link parameters again: `python -m vcgym.scripts.fit_links data.root=FOLDER` writes them into data/."""

from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig

from vcgym.network.fitting.cloud import fit_cloud
from vcgym.network.fitting.links import fit_ten_places, write_table
from vcgym.network.fitting.world import write_sample
from vcgym.network.traces.cards import data_root

ConfigStore.instance().store("fit_links", {"data": {"root": None}, "output": "data"})


@hydra.main(version_base="1.3", config_path=None, config_name="fit_links")
def main(config: DictConfig) -> None:
    """Fit and write."""
    root, output = data_root(config.data.root), Path(config.output)
    write_table(fit_ten_places(root), output / "wonderproxy_ten_places.json")
    write_table(fit_cloud(root), output / "cloud.json")
    write_sample(root, output / "world_links.csv.gz")


if __name__ == "__main__":
    main()
