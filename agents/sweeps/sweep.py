"""A search for PPO's learning rate and entropy coefficient with Ray Tune.

Trials report metrics; the driver logs them to MLflow, each trial as a run nested in the sweep's.

A killed sweep resumes without snapshots of Ray. Seed and order give every trial the same values and name again. A trial first repeats its
earlier reports, so that the scheduler decides as before, then continues from its newest checkpoint. A trial whose process or machine is
lost does the same at once.
"""

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from ray import tune
from ray.tune.schedulers import ASHAScheduler

from vcgym.agents.config.training import SweepConfig, TrainConfig
from vcgym.agents.evaluation.environments import data_hashes
from vcgym.agents.sweeps.search import ray_running
from vcgym.agents.tracking import points, registry
from vcgym.agents.tracking.progress import BEFORE, OnProgress, progress
from vcgym.agents.tracking.same_study import require_same_study
from vcgym.agents.tracking.tracking import Run, Tracking, read_run_id
from vcgym.agents.training.study import FINAL, log_agent, log_inputs, model_name, named, tags_of, title_of
from vcgym.agents.training.training import require_trainable, train
from vcgym.network.traces.plain_file import replace_file, require_space

METRIC = "validation/return_mean"
VALUES = ("learning_rate", "ent_coef")  # what a sweep searches
_REPORTS = "reports.jsonl"
_MARKER = "mlflow_run"  # file with the id of a run
_RETRIES = 2  # retries of a trial whose process, machine or training is lost


@dataclass(frozen=True)
class BestTrial:
    """Best trial and the folder of its agent."""

    agent: Path
    learning_rate: float
    ent_coef: float
    return_mean: float


class TrialError(ChildProcessError):
    """Error of a trial, or of a sweep in which all trials failed or none left an agent."""


def run_sweep(config: SweepConfig) -> BestTrial:
    """Run `config.trials` trainings, stop the weaker ones early, and return the best trial that left an agent.

    Raises:
        FileExistsError: the folder holds a sweep and `config.train.resume` is false.
        ValueError: the folder holds another sweep; see also `vcgym.agents.training.training.require_trainable`.
        DataError: the disk of the folder is almost full.
        TrialError: all trials failed, or none left an agent on this machine.
    """
    folder, saved = config.folder, config.folder / "config.json"
    if saved.exists() and not config.train.resume:
        raise FileExistsError(f"{folder} holds a sweep (train.resume is false); set train.resume=true or another folder")
    config.train.data.export()
    require_trainable(config.train)
    require_same_study(config.folder, config)
    require_space(folder)
    data, title = data_hashes(config.train.env), title_of(config.train)
    tracking = Tracking()
    replace_file(saved, (config.model_dump_json(indent=2) + "\n").encode())
    with (
        ray_running(config.concurrent, config.ray.address),
        tracking.run(f"{title} sweep: {config.train.study}", tags=tags_of(config.train, data), marker=folder / _MARKER) as sweep,
        progress("sweep", config.trials) as report_progress,
        _TrialRuns(tracking, sweep, config.train, data, report_progress) as trial_runs,
    ):
        sweep.config(config)
        report_progress(0, _before(config.train))
        tuner = tune.Tuner(
            tune.with_resources(tune.with_parameters(run_trial, train_config=config.train), {"cpu": 1}),
            param_space={name: tune.loguniform(*getattr(config, name)) for name in VALUES},
            tune_config=_tune_config(config),
            run_config=tune.RunConfig(
                name=folder.name,
                storage_path=str(folder.parent),
                callbacks=[trial_runs],
                failure_config=tune.FailureConfig(max_failures=_RETRIES),
                verbose=0,
            ),
        )
        best, steps = _best(config.train, tuner.fit())
        sweep.metrics({METRIC: best.return_mean}, steps)
        _log_best(tracking, config.train, best, steps)
        return best


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
            points.append(reports, points.MetricPoint(metrics, steps, time.time_ns() // 1_000_000))
            tune.report({**metrics, "steps": steps})

    train(config, config.seeds[0], report)


def _before(config: TrainConfig) -> str:
    """Return what an earlier run of the sweep left, in words, or an empty text."""
    names = [home.name for home in (config.folder / "agents").glob("trial-*")]
    if not names:
        return ""
    steps = sum(max((point.steps for point in points.read(reports_of(config, name))), default=0) for name in names)
    agents = sum(agent_of(config, name).exists() for name in names)
    return f"{BEFORE}: {len(names)} trials began, {agents} of them left an agent, {steps:,} transitions are not played again"


def _log_best(tracking: Tracking, config: TrainConfig, best: BestTrial, steps: int) -> None:
    """Log the best agent as the model of its run, unless no server has the run."""
    marker = best.agent.parents[1] / _MARKER
    if marker.exists():
        run = Run(tracking.server, read_run_id(marker), None)
        log_agent(run, config, best.agent, steps, {FINAL: best.return_mean})
        run.server.ask(lambda: registry.set_champion(run, model_name(config)))


def _best(config: TrainConfig, results: tune.ResultGrid) -> tuple[BestTrial, int]:
    """Return the trial with the highest last return among those that left an agent, and its transitions."""
    ended = [results[i] for i in range(len(results)) if results[i].error is None]
    if not ended:
        raise TrialError(f"all {len(results)} trials failed, the first with: {next(iter(results.errors), None)}")
    # Config and metrics are None only for a trial without reports; a successful training has reported.
    found = [(agent_of(config, name_of(metrics["trial_id"])), r.config or {}, metrics) for r in ended if (metrics := r.metrics or {})]
    saved = [one for one in found if one[0].exists()]
    if not saved:
        allowed = "at least one; trials on other machines leave theirs where the folder is shared"
        raise TrialError(f"{config.folder / 'agents'}: agents of {len(ended)} trials that ended is 0; allowed: {allowed}")
    agent, values, metrics = max(saved, key=lambda one: one[2][METRIC])
    return BestTrial(agent, values["learning_rate"], values["ent_coef"], metrics[METRIC]), metrics["steps"]


def _tune_config(config: SweepConfig) -> tune.TuneConfig:
    searcher = tune.search.BasicVariantGenerator(random_state=config.seed, max_concurrent=config.concurrent)
    return tune.TuneConfig(
        metric=METRIC,
        mode="max",
        num_samples=config.trials,
        search_alg=searcher,
        scheduler=_halving(config),
        trial_name_creator=lambda trial: name_of(trial.trial_id),
    )


def _halving(config: SweepConfig) -> ASHAScheduler:
    steps, rollout = config.train.steps, config.train.rollout
    interval = config.train.evaluate_every * rollout
    # Ray stops a trial when it reports max_t, before it publishes its agent: so max_t is beyond the last report.
    max_t = max(2 * steps, steps + rollout, interval)
    return ASHAScheduler(time_attr="steps", max_t=max_t, grace_period=interval, reduction_factor=2)


class _TrialRuns(tune.Callback):
    """Callback of the driver that logs each trial as a run nested in the sweep's; those still open end with the block."""

    def __init__(self, tracking: Tracking, sweep: Run, config: TrainConfig, data: Mapping[str, str], report_progress: OnProgress) -> None:
        self.tracking, self.sweep, self.config, self.data, self.report_progress = tracking, sweep, config, data, report_progress
        self.ended = 0
        self.open: dict[str, tuple[Run, ExitStack]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: Any) -> None:
        for _, ending in self.open.values():
            ending.__exit__(*failure)

    def __getstate__(self) -> dict[str, Any]:
        # Ray pickles callbacks in case it restores a search; this one holds open runs and lives only in the driver.
        return {}

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        name = name_of(trial.trial_id)
        if name not in self.open:
            ending, marker = ExitStack(), home_of(self.config, name) / _MARKER
            tags = tags_of(self.config, self.data, self.config.seeds[0])
            chosen = trial_config(self.config, trial.config["learning_rate"], trial.config["ent_coef"], name)
            title = ", ".join([*(named(key, trial.config[key]) for key in VALUES), name.replace("-", " ")])
            run = ending.enter_context(self.tracking.run(title, parent=self.sweep, tags=tags, marker=marker))
            self.open[name] = run, ending
            log_inputs(run, chosen, self.data)

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        metrics = {name: value for name, value in result.items() if name.startswith("validation/") or name in VALUES}
        name, steps = name_of(trial.trial_id), result["steps"]
        self.open[name][0].metrics(metrics, steps)
        self.report_progress(self.ended, f"{name} at {steps:,} transitions: validation return {result[METRIC]:.3f}")

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        name = name_of(trial.trial_id)
        run, ending = self.open.pop(name)
        # A trial stopped early publishes nothing, and without shared storage the driver does not see the agents of other machines.
        agent = agent_of(self.config, name)
        if agent.exists():
            run.folder(agent)
        ending.close()
        self._count(f"{name} ended")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        # A trial that could not be started has no run.
        name = name_of(trial.trial_id)
        _, ending = self.open.pop(name, (None, ExitStack()))
        with suppress(TrialError), ending:
            raise TrialError(name)
        self._count(f"{name} failed: see {trial.local_path}")

    def _count(self, note: str) -> None:
        self.ended += 1
        self.report_progress(self.ended, note)
