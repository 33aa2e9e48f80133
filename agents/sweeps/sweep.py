"""A search for PPO's learning rate and entropy coefficient with Ray Tune.

Trials report numbers; the driver writes them to MLflow, each trial a run nested under the sweep's.
"""

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from ray import tune
from ray.tune.schedulers import ASHAScheduler

from vcgym.agents.config.training import SweepConfig, TrainConfig
from vcgym.agents.evaluation.environments import data_hash
from vcgym.agents.sweeps.search import ray_running
from vcgym.agents.tracking.progress import OnProgress, progress
from vcgym.agents.tracking.tracking import Run, Tracking
from vcgym.agents.training.training import require_trainable, train

_METRIC = "validation/return_mean"


@dataclass(frozen=True)
class Best:
    """The winning trial."""

    learning_rate: float
    ent_coef: float
    return_mean: float


class TrialError(RuntimeError):
    """A trial ended with an error, or all of them did."""


def run_sweep(config: SweepConfig) -> Best:
    """Run `config.trials` trainings, stop the weaker ones early, and return the best one that did not fail.

    Raises:
        ValueError: see `vcgym.agents.training.training.require_trainable`.
        TrialError: all trials failed.
    """
    config.train.data.export()
    require_trainable(config.train)
    data = data_hash(config.train.env)
    tracking = Tracking()
    folder = config.train.folder
    with (
        ray_running(config.concurrent, config.address),
        tracking.run(f"{config.train.study} sweep", data_hash=data) as sweep,
        progress("sweep", config.trials) as report_progress,
    ):
        sweep.config(config)
        tuner = tune.Tuner(
            tune.with_resources(tune.with_parameters(_trial, train_config=config.train), {"cpu": 1}),
            param_space={name: tune.loguniform(*getattr(config, name)) for name in ("learning_rate", "ent_coef")},
            tune_config=_tune_config(config),
            run_config=tune.RunConfig(
                name=folder.name,
                storage_path=str(folder.parent),
                callbacks=[_Nested(tracking, sweep, config.train, data, report_progress)],
                verbose=0,
            ),
        )
        best, steps = _best(tuner.fit())
        sweep.metrics({_METRIC: best.return_mean}, steps)
        return best


def _best(results: tune.ResultGrid) -> tuple[Best, int]:
    """Return the trial with the highest last return, and its transitions."""
    ended = [results[i] for i in range(len(results)) if results[i].error is None]
    if not ended:
        raise TrialError(f"all {len(results)} trials failed, the first with: {next(iter(results.errors), None)}")
    # Config and metrics are None only where a trial never reported, and a training that ends well has.
    values, metrics = max(((r.config or {}, r.metrics or {}) for r in ended), key=lambda trial: trial[1][_METRIC])
    return Best(values["learning_rate"], values["ent_coef"], metrics[_METRIC]), metrics["steps"]


def trial_config(config: TrainConfig, learning_rate: float, ent_coef: float, name: str) -> TrainConfig:
    """Return the config of one trial: two values replaced, and a folder of its own."""
    tuned = config.algorithm.model_copy(update={"learning_rate": learning_rate, "ent_coef": ent_coef})
    return config.model_copy(update={"algorithm": tuned, "folder": _home(config, name), "seeds": config.seeds[:1]})


def _home(config: TrainConfig, name: str) -> Path:
    return config.folder / "agents" / name


def _tune_config(config: SweepConfig) -> tune.TuneConfig:
    steps, rollout = config.train.steps, config.train.num_envs * config.train.algorithm.n_steps
    interval = config.train.evaluate_every * rollout
    # A trial is stopped at max_t as soon as it reports it, and would then not publish its agent: so max_t lies beyond the last report.
    max_t = max(2 * steps, steps + rollout, interval)
    scheduler = ASHAScheduler(time_attr="steps", max_t=max_t, grace_period=interval, reduction_factor=2)
    searcher = tune.search.BasicVariantGenerator(random_state=config.seed, max_concurrent=config.concurrent)
    return tune.TuneConfig(metric=_METRIC, mode="max", num_samples=config.trials, search_alg=searcher, scheduler=scheduler)


def _trial(values: dict[str, float], train_config: TrainConfig) -> None:
    name = tune.get_context().get_trial_id()
    config = trial_config(train_config, values["learning_rate"], values["ent_coef"], name)

    def report(metrics: dict[str, float], steps: int) -> None:
        if _METRIC in metrics:
            tune.report({**metrics, "steps": steps})

    train(config, config.seeds[0], report)


class _Nested(tune.Callback):
    """Callback of the driver that logs the reports of trials as runs nested under the sweep's."""

    def __init__(self, tracking: Tracking, sweep: Run, config: TrainConfig, data_hash: str, report_progress: OnProgress):
        self.tracking, self.sweep, self.config, self.data_hash, self.report_progress = tracking, sweep, config, data_hash, report_progress
        self.ended = 0
        self.open: dict[str, tuple[Run, ExitStack]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Ray pickles its callbacks in case a search is restored; this one lives as long as the driver and holds open runs.
        return {}

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        if trial.trial_id not in self.open:
            stack = ExitStack()
            run = stack.enter_context(self.tracking.run(trial.trial_id, parent=self.sweep, data_hash=self.data_hash))
            run.config(trial_config(self.config, trial.config["learning_rate"], trial.config["ent_coef"], trial.trial_id))
            self.open[trial.trial_id] = run, stack

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        metrics = {name: value for name, value in result.items() if name.startswith("validation/")}
        self.open[trial.trial_id][0].metrics(metrics, result["steps"])
        self.report_progress(
            self.ended, f"trial {trial.trial_id} at {result['steps']:,} transitions: validation return {result[_METRIC]:.3f}"
        )

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        run, stack = self.open.pop(trial.trial_id)
        # A trial that was stopped early publishes nothing, and without shared storage the driver does not see another machine's agent.
        agent = _home(self.config, trial.trial_id) / f"seed-{self.config.seeds[0]}" / "agent"
        if agent.exists():
            run.folder(agent)
        stack.close()
        self._count(f"trial {trial.trial_id} ended")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        # One that could not even be started has no run.
        _, stack = self.open.pop(trial.trial_id, (None, ExitStack()))
        with suppress(TrialError), stack:
            raise TrialError(trial.trial_id)
        self._count(f"trial {trial.trial_id} failed: see {trial.local_path}")

    def _count(self, note: str) -> None:
        self.ended += 1
        self.report_progress(self.ended, note)
