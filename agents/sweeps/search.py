"""Start of Ray, calls in its processes, and random search with Ray Tune; a trial is any function of named values."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Self

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import ray
from pydantic import Field, model_validator
from ray import tune

from vcgym.agents.config.base import Config
from vcgym.agents.tracking.progress import OnProgress, unseen

Values = dict[str, float | int]
_SCORE = "score"
_OBJECT_STORE_BYTES = 200 * 2**20


@contextmanager
def ray_running(workers: int, address: str | None) -> Iterator[None]:
    """Start a local Ray with `workers` processes, or join the cluster at `address` ("auto": this machine's), during the block.

    Raises:
        ConnectionError: Ray did not start, as happens on an overloaded machine, or there is no cluster.
    """
    local = {"address": "local", "num_cpus": workers, "object_store_memory": _OBJECT_STORE_BYTES, "include_dashboard": False}
    try:
        ray.init(**(local if address is None else {"address": address}), log_to_driver=False, configure_logging=False)
    except Exception as error:  # Ray raises a bare Exception when a process is slow to start
        raise ConnectionError(f"Ray did not start: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


class Domain(Config):
    """Range of one value: from `low` to `high`, or one of `choices`.

    Attributes:
        low: minimum.
        high: maximum.
        log: sample uniformly in the logarithm.
        whole: sample integers, both ends included.
        choices: allowed values, equally likely.
    """

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: Annotated[list[int], Field(min_length=2)] | None = None

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if self.choices is None and not self.low < self.high:
            raise ValueError(f"low is {self.low}, high {self.high}; allowed: low < high, or choices")
        if self.log and self.low <= 0.0:
            raise ValueError(f"low is {self.low}; allowed with log: above 0")
        return self

    def to_ray(self) -> Any:
        """Return the corresponding domain of Ray Tune."""
        if self.choices is not None:
            return tune.choice(self.choices)
        if self.whole:
            ends = int(self.low), int(self.high) + 1  # Ray excludes the upper end
            return tune.lograndint(*ends) if self.log else tune.randint(*ends)
        return tune.loguniform(self.low, self.high) if self.log else tune.uniform(self.low, self.high)


def search(
    score: Callable[[Values], float], space: Mapping[str, Domain], trials: int, seed: int, concurrent: int, on_progress: OnProgress = unseen
) -> list[tuple[Values, float]]:  # fmt: skip
    """Sample `trials` sets of values, score each in a process of the running Ray, and return values and scores in the order of sampling.

    Args:
        score: objective, called in another process; higher is better.
        space: range of each value.
        trials: number of sets.
        seed: seed of the sampling.
        concurrent: concurrent trials, one CPU each.
        on_progress: called with the number of finished trials and the best score.

    Raises:
        RuntimeError: a trial failed.
    """

    def trial(values: dict[str, Any]) -> None:
        tune.report({_SCORE: score(dict(values))})

    searcher = tune.search.BasicVariantGenerator(random_state=seed, max_concurrent=concurrent)
    with TemporaryDirectory(prefix="vcgym-search-") as folder:
        tuner = tune.Tuner(
            tune.with_resources(trial, {"cpu": 1}),
            param_space={name: domain.to_ray() for name, domain in space.items()},
            tune_config=tune.TuneConfig(metric=_SCORE, mode="max", num_samples=trials, search_alg=searcher, reuse_actors=True),
            run_config=tune.RunConfig(name="search", storage_path=str(Path(folder)), verbose=0, callbacks=[_Counted(on_progress)]),
        )
        results = tuner.fit()
        if results.errors:
            raise RuntimeError(f"{len(results.errors)} of {trials} trials failed, the first with: {results.errors[0]}")
        return [(dict(results[i].config or {}), float((results[i].metrics or {})[_SCORE])) for i in range(len(results))]


class _Counted(tune.Callback):
    """Callback of the driver that counts the trials of a search."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress, self._done, self._best = on_progress, 0, -np.inf

    def __getstate__(self) -> dict[str, Any]:
        # Ray pickles callbacks in case it restores a search; this one lives only in the driver.
        return {}

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        self._done, self._best = self._done + 1, max(self._best, result[_SCORE])
        self._on_progress(self._done, f"best {self._best:.4g}")


def each(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], on_progress: OnProgress = unseen) -> list[Any]:
    """Call a module-level function with each tuple of arguments in processes of the running Ray; return the results in order.

    `on_progress` is called with the number of finished calls.
    """
    task = ray.remote(num_cpus=1)(function)
    waiting = asked = [task.remote(*arguments) for arguments in calls]
    while waiting:
        _, waiting = ray.wait(waiting)
        on_progress(len(asked) - len(waiting), "")
    return list(ray.get(asked))
