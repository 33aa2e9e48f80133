"""Start of Ray, calls in its processes, and ranges of values that trials draw from."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Self

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from pydantic import Field, model_validator
from ray import tune

from vcgym.agents.config.base import Config
from vcgym.agents.tracking.progress import OnProgress, unseen

Values = dict[str, float | int]
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


def parallel_map(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], on_progress: OnProgress = unseen) -> list[Any]:
    """Call a module-level function with each tuple of arguments in processes of the running Ray; return the results in order.

    `on_progress` is called with the number of finished calls.
    """
    task = ray.remote(num_cpus=1)(function)
    waiting = asked = [task.remote(*arguments) for arguments in calls]
    while waiting:
        _, waiting = ray.wait(waiting)
        on_progress(len(asked) - len(waiting), "")
    return list(ray.get(asked))
