"""A study: one training per seed, each a run nested in the study's. A name of a run tells what differs from other trainings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vcgym.agents.config.algorithms import InsidePPOConfig, LibraryConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import data_hashes, make_envs
from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own
from vcgym.agents.published.export import load_agent
from vcgym.agents.tracking import registry
from vcgym.agents.tracking.same_study import require_same_study
from vcgym.agents.tracking.tracking import Run, Tracking, flatten
from vcgym.agents.training.learners import name_of
from vcgym.agents.training.trained import Trained
from vcgym.agents.training.training import ZIP, require_trainable, train
from vcgym.baselines.zoo import CARD, LEARNED, WEIGHTS
from vcgym.network.traces.plain_file import replace_file, require_space

FINAL = "final/return_mean"
"""Metric of a model: mean return on the validation split of the agent as published."""
_SHORT = {"learning_rate": "lr", "evaluate_every": "evaluated", "evaluation_episodes": "episodes", "checkpoint_every": "saved"}
_KEYS = 3  # keys in a name
_WIDTH = 24  # characters of a value


def run_study(config: TrainConfig) -> list[Trained]:
    """Train once per seed of `config` and log every run.

    Raises:
        ValueError: the folder holds a study of another config, or its disk is almost full; see also
            `vcgym.agents.training.training.require_trainable`.
    """
    config.data.export()
    require_trainable(config)
    require_same_study(config.folder, config)
    require_space(config.folder)
    data, title = data_hashes(config.env), title_of(config)
    tracking = Tracking()
    replace_file(config.folder / "config.json", (config.model_dump_json(indent=2) + "\n").encode())
    results, runs = [], []
    differing = what_differs(config)
    with tracking.run(f"{differing}{title}: {config.study}", tags=tags_of(config, data), marker=config.folder / "mlflow_run") as study:
        log_inputs(study, config, data)
        for seed in config.seeds:
            marker = config.folder / f"seed-{seed}" / "mlflow_run"
            with tracking.run(f"{differing}seed {seed}", parent=study, tags=tags_of(config, data, seed), marker=marker) as run:
                log_inputs(run, config.model_copy(update={"seeds": [seed]}), data)
                results.append(train(config, seed, run.metrics))
                run.folder(results[-1].agent)
                log_agent(run, config, results[-1].agent, results[-1].steps, {FINAL: results[-1].validation.return_mean})
                runs.append(run)
        study.metrics({"validation/return_mean": sum(r.validation.return_mean for r in results) / len(results)}, results[-1].steps)
        best, _ = max(zip(runs, results, strict=True), key=lambda one: one[1].validation.return_mean)
        study.server.ask(lambda: registry.set_champion(best, model_name(config)))
    return results


def title_of(config: TrainConfig) -> str:
    """Return the title of a training's runs: environment and algorithm."""
    return f"{config.env.id.rpartition('/')[2]} {name_of(config.algorithm)}"


def tags_of(config: TrainConfig, data: Mapping[str, str], seed: int | None = None) -> dict[str, str]:
    """Return the tags of a training's run, or of the study's run if `seed` is None; `data` is the hash of each kind of worlds."""
    of_worlds: dict[str, str] = {name: str(config.env.options[name]) for name in ("scenario", "mode") if name in config.env.options}
    if len(data) > 1:
        of_worlds = {"kinds": ", ".join(data)}
    of_seed = {} if seed is None else {"seed": str(seed)}
    hashes = ", ".join(data.values())
    return {"env": config.env.id, "algorithm": name_of(config.algorithm), "study": config.study, "data_hash": hashes} | of_worlds | of_seed


def log_inputs(run: Run, config: TrainConfig, data: Mapping[str, str]) -> None:
    """Log a config and the worlds of its trainings and validations."""
    run.config(config)
    for kind, of_kind in data.items():
        run.worlds(kind, of_kind)


def model_name(config: TrainConfig) -> str:
    """Return the name of the registered model to which the trainings add versions."""
    return f"vcgym-{title_of(config).replace(' ', '-').lower()}"


def log_agent(run: Run, config: TrainConfig, folder: Path, steps: int, metrics: dict[str, float]) -> None:
    """Log what was published in `folder` as the model of its run; the example of an agent is the first observation of a call."""
    if isinstance(config.algorithm, InsidePPOConfig):
        served = registry.pair((folder / f"{LEARNED}{CARD}", folder / f"{LEARNED}{WEIGHTS}"))
        run.server.ask(lambda: registry.log_model(run, model_name(config), served, steps, metrics))
        return
    envs = make_envs(config.env, 1, "validation")
    observation, _ = envs.reset(seed=0)
    envs.close()
    agent = OwnPolicy(load_own(str(folder / ZIP))) if isinstance(config.algorithm, LibraryConfig) else load_agent(folder)
    served = registry.agent(folder, observation, agent.predict(observation)[0])
    run.server.ask(lambda: registry.log_model(run, model_name(config), served, steps, metrics))


def what_differs(config: TrainConfig) -> str:
    """Return what differs from the defaults, such as "lr 1e-3, interval 50, "; of more than three keys the first ones, then "...".

    It begins the name of a run, since MLflow shows the first twenty characters of names.
    """
    usual = TrainConfig(env=EnvConfig(id=config.env.id), algorithm=type(config.algorithm)(), study=config.study, seeds=config.seeds)
    defaults, given = flatten(usual.decisive()), flatten(config.decisive())
    found = {key: value for key, value in given.items() if value != defaults.get(key)}
    return "".join([f"{named(key, value)}, " for key, value in list(found.items())[:_KEYS]] + ["..., "] * (len(found) > _KEYS))


def named(key: str, value: Any) -> str:
    """Return a key and its value in short: "lr 1e-3" for algorithm.learning_rate=0.001."""
    name = key.rpartition(".")[2]
    return f"{_SHORT.get(name, name)} {_brief(value)}"


def _brief(value: Any) -> str:
    text = str(value)
    if isinstance(value, float):
        digits, _, exponent = f"{value:.2e}".partition("e")
        text = f"{float(digits):g}e{int(exponent)}" if 0 < abs(value) < 0.01 else f"{value:.3g}"
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
