"""Population-based training (Jaderberg et al. 2017, arXiv 1711.09846): weak trials go on from the checkpoints of strong ones.

At each evaluation all trials wait for each other. Then each of the lower quarter takes checkpoint and values of one of the upper quarter,
with each value changed by a fifth or sampled anew. A report carries the trial's newest checkpoint to Ray, which passes it on.

A killed sweep resumes as with the other scheduler: seed, order and repeated reports lead to the same choices. A repeated report whose
checkpoint is no longer kept carries only its number of transitions; the trial that gets it has reports to repeat itself.
"""

import random
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from ray import tune
from ray.tune.schedulers import PopulationBasedTraining

from vcgym.agents.config.training import SweepConfig, TrainConfig
from vcgym.agents.sweeps.trial import METRIC, VALUES, agent_of, name_of, reports_of, trial_config
from vcgym.agents.tracking import points
from vcgym.agents.tracking.points import MetricPoint
from vcgym.agents.training import checkpoint
from vcgym.agents.training.training import train

_STEPS = "steps"


def population_of(config: SweepConfig) -> PopulationBasedTraining:
    """Return the scheduler; its draws follow from the sweep's seed, through Python's global generator, which Ray uses."""
    bounds = {name: getattr(config, name) for name in VALUES}
    interval = config.train.evaluate_every * config.train.rollout
    random.seed(config.seed)
    return PopulationBasedTraining(
        time_attr=_STEPS,
        perturbation_interval=interval,
        hyperparam_mutations={name: tune.loguniform(*ends) for name, ends in bounds.items()},
        custom_explore_fn=lambda values: values | {name: min(max(values[name], low), high) for name, (low, high) in bounds.items()},
        synch=True,
        log_config=False,
    )


def run_member(values: dict[str, float], train_config: TrainConfig) -> None:
    """Train from the checkpoint that Ray passes, if any, to the end; Ray stops the trial at each report but the last."""
    name = name_of(tune.get_context().get_trial_id())
    chosen = {value: values[value] for value in VALUES}
    config, reports = trial_config(train_config, **chosen, name=name), reports_of(train_config, name)
    checkpoints = checkpoint.folder_of(config.folder / f"seed-{config.seeds[0]}")
    with TemporaryDirectory() as draft:
        given = tune.get_checkpoint()
        passed = Path(given.to_directory(draft)) if given else None
        begun = int((passed / _STEPS).read_text()) if passed else 0
        lines = list(points.read(reports))
        for line in [line for line in lines if line.steps > begun]:
            if any(line.values[value] != chosen[value] for value in VALUES):
                break
            _report(line, checkpoints, line.steps >= config.steps)
        if agent_of(train_config, name).exists() and lines and lines[-1].steps >= config.steps:
            return
        if lines and lines[-1].steps > begun:  # of other values, so of another sweep than the one that was killed
            reports.unlink()
            for line in [line for line in lines if line.steps <= begun]:
                points.append(reports, line)
        if passed:
            shutil.rmtree(checkpoints, ignore_errors=True)
            checkpoint.adopt(checkpoint.newest(passed), checkpoints, {f"algorithm.{value}": chosen[value] for value in VALUES})
    latest = MetricPoint({}, 0, 0)

    def log(metrics: dict[str, float], steps: int) -> None:
        nonlocal latest
        if METRIC in metrics:
            latest = MetricPoint({**metrics, **chosen}, steps, time.time_ns() // 1_000_000)

    def on_checkpoint(steps: int) -> None:
        if latest.steps == steps:
            points.append(reports, latest)
            _report(latest, checkpoints, False)

    train(config, config.seeds[0], log, on_checkpoint)
    points.append(reports, latest)
    _report(latest, checkpoints, True)


def _report(line: MetricPoint, checkpoints: Path, done: bool) -> None:
    """Report to Ray, with the trial's checkpoint after as many transitions where it is kept; `done` ends the trial."""
    with TemporaryDirectory() as folder:
        (Path(folder) / _STEPS).write_text(str(line.steps))
        kept = checkpoint.path_of(checkpoints, line.steps)
        if kept.exists():
            shutil.copytree(kept, Path(folder) / kept.name)
        tune.report({**line.values, _STEPS: line.steps, "done": done}, checkpoint=tune.Checkpoint.from_directory(folder))
