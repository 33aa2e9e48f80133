"""`vcgym zoo`."""

import logging
from collections.abc import Iterator, Sequence

from vcgym.agents.sweeps.search import ray_running
from vcgym.agents.tracking.progress import progress
from vcgym.agents.tracking.tracking import Run, Tracking
from vcgym.network.traces.plain_file import require_space
from vcgym.scripts.zoo.cell import CurvePoint, train_cell
from vcgym.scripts.zoo.config import FOUND, PAGE, ZooConfig, ZooTraining
from vcgym.scripts.zoo.page import write_page
from vcgym.scripts.zoo.runs import read_runs, write_runs
from vcgym.scripts.zoo.search import trials_of, write_found

log = logging.getLogger(__name__)


def zoo(config: ZooConfig) -> None:
    """Train what the table lacks, and write table, picture and page anew after each training; with `trials`, search arguments."""
    if config.trials:
        search(config)
        log.info(f"Found: {config.folder / FOUND}; copy its entries to conf/{FOUND} to use them with tuned=true")
        return
    run(config)
    log.info(f"Table: {config.folder / PAGE}")


def search(config: ZooConfig) -> None:
    """Train the trials of each pair and write what was found."""
    require_space(config.folder)
    trials, ended = trials_of(config), []
    with progress("trials", len(trials)) as report:
        for number, points in _trained(config, [(trial.config, trial.cell) for trial in trials]):
            ended.append((trials[number], points))
            write_found(config, ended)
            report(len(ended), f"{trials[number].cell} {trials[number].arguments}: {points[-1].score:.3f}, {points[-1].cpu_s:.0f} s")


def run(config: ZooConfig) -> None:
    """Train what the table lacks, and say nothing."""
    require_space(config.folder)
    config.data.export()
    missing = [cell for cell in config.cells() if cell not in read_runs(config.runs)]
    tracking = Tracking()
    with (
        tracking.run("zoo", tags={"study": "zoo"}, marker=config.folder / "mlflow_run") as study,
        progress("trainings", len(missing)) as report,
    ):
        study.config(config)
        for done, (number, points) in enumerate(_trained(config, [(config, cell) for cell in missing]), 1):
            cell = missing[number]
            _track(tracking, study, config, cell, points)
            write_runs(config.runs, read_runs(config.runs) | {cell: points})
            write_page(config.folder / PAGE, read_runs(config.runs), config.decisions, config.worlds)
            report(done, f"{cell}: {points[-1].score:.3f} after {points[-1].decisions:,} decisions, {points[-1].cpu_s:.0f} s")
    write_page(config.folder / PAGE, read_runs(config.runs), config.decisions, config.worlds)


def _trained(config: ZooConfig, trainings: Sequence[tuple[ZooConfig, ZooTraining]]) -> Iterator[tuple[int, list[CurvePoint]]]:
    """Yield the number and the curve of each training as it ends: here one after another, or on a cluster."""
    if config.ray.address is None or not trainings:
        yield from enumerate(train_cell(*one) for one in trainings)
        return
    import ray  # imported here: without a cluster the command does not need it

    with ray_running(1, config.ray.address):
        task = ray.remote(num_cpus=1, max_retries=3)(train_cell)
        waiting = {task.remote(*one): number for number, one in enumerate(trainings)}
        while waiting:
            done, _ = ray.wait(list(waiting))
            for one in done:
                yield waiting.pop(one), ray.get(one)


def _track(tracking: Tracking, study: Run, config: ZooConfig, cell: ZooTraining, points: list[CurvePoint]) -> None:
    """Log a training as a run of the study."""
    tags = {"env": cell.env, "algorithm": cell.algorithm, "seed": str(cell.seed), "study": "zoo"}
    with tracking.run(str(cell), parent=study, tags=tags, marker=config.folder / str(cell) / "mlflow_run") as run:
        for point in points:
            run.metrics({"validation/score": point.score, "time/cpu_s": point.cpu_s}, point.decisions)
