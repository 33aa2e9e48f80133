"""Trials of a sweep: names, folders, configs and reports, and the trial that trains from its start to its end."""

import time
from pathlib import Path

from ray import tune

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.tracking import points
from vcgym.agents.tracking.points import MetricPoint
from vcgym.agents.training.training import train
from vcgym.network.traces.plain_file import replace_file

METRIC = "validation/return_mean"
VALUES = ("learning_rate", "ent_coef")  # what a sweep searches
_REPORTS = "reports.jsonl"


def trial_config(config: TrainConfig, learning_rate: float, ent_coef: float, name: str) -> TrainConfig:
    """Return the config of one trial: two values replaced, and its own folder, from which it can resume."""
    tuned = config.algorithm.model_copy(update={"learning_rate": learning_rate, "ent_coef": ent_coef})
    return config.model_copy(update={"algorithm": tuned, "folder": home_of(config, name), "seeds": config.seeds[:1], "resume": True})


def home_of(config: TrainConfig, name: str) -> Path:
    """Return the folder of a trial."""
    return config.folder / "agents" / name


def agent_of(config: TrainConfig, name: str) -> Path:
    """Return the folder of a trial's agent."""
    return home_of(config, name) / f"seed-{config.seeds[0]}" / "agent"


def reports_of(config: TrainConfig, name: str) -> Path:
    """Return the file of a trial's reports."""
    return home_of(config, name) / _REPORTS


def name_of(trial_id: str) -> str:
    """Return the name of a trial: its number, the only part of the id that is the same after a resume."""
    return f"trial-{trial_id.rpartition('_')[2]}"


def run_trial(values: dict[str, float], train_config: TrainConfig) -> None:
    """Repeat the reports of an interrupted trial, then train from its newest checkpoint to the end."""
    name = name_of(tune.get_context().get_trial_id())
    config = trial_config(train_config, values["learning_rate"], values["ent_coef"], name)
    replace_file(config.folder / "config.json", (config.model_dump_json(indent=2) + "\n").encode())  # a board ranks the folder as a study
    reports, reported = reports_of(train_config, name), 0
    for metrics, steps, _ in points.read(reports):
        tune.report({**metrics, "steps": steps})
        reported = steps
    if reported and agent_of(train_config, name).exists():
        return

    def report(metrics: dict[str, float], steps: int) -> None:
        if METRIC in metrics and steps > reported:
            points.append(reports, MetricPoint(metrics, steps, time.time_ns() // 1_000_000))
            tune.report({**metrics, "steps": steps})

    train(config, config.seeds[0], report)
