"""A study: the same training once per seed, every seed a run nested under the study's."""

from vcgym.agents.config import TrainConfig
from vcgym.agents.environments import data_hash
from vcgym.agents.tracking import Tracking
from vcgym.agents.training import Trained, train


def run_study(config: TrainConfig) -> list[Trained]:
    """Train once per seed of `config` and log it all."""
    config.data.export()
    data = data_hash(config.env)
    tracking = Tracking()
    config.folder.mkdir(parents=True, exist_ok=True)
    (config.folder / "config.json").write_text(config.model_dump_json(indent=2) + "\n")
    results = []
    with tracking.run(config.study, data_hash=data, marker=config.folder / "mlflow_run") as study:
        study.config(config)
        for seed in config.seeds:
            home = config.folder / f"seed-{seed}"
            with tracking.run(f"{config.study} seed {seed}", parent=study, data_hash=data, marker=home / "mlflow_run") as run:
                run.config(config.model_copy(update={"seeds": [seed]}))
                results.append(train(config, seed, run.metrics))
                run.folder(results[-1].agent)
        study.metrics({"validation/return_mean": sum(r.validation.return_mean for r in results) / len(results)}, results[-1].steps)
    return results
