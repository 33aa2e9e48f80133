"""Write the fit report: `python -m vcgym.scripts.fit_report data.root=FOLDER` makes docs/fit.md."""

from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig

from vcgym.leaderboard.report.fit_page import fit_page
from vcgym.network.traces.cards import data_root

ConfigStore.instance().store("fit_report", {"data": {"root": None}, "output": "docs/fit.md"})


@hydra.main(version_base="1.3", config_path=None, config_name="fit_report")
def main(config: DictConfig) -> None:
    """Compare and write."""
    Path(config.output).write_text(fit_page(data_root(config.data.root)), encoding="utf-8")


if __name__ == "__main__":
    main()
