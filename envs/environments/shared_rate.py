"""SharedRate: agents choose the target bitrates of calls that share a bottleneck."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import NEVER_US
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.envs.call.sender.shared_batch import SharedBatch
from vcgym.envs.call.stages import DONE
from vcgym.envs.environments.rate import RateVectorEnv
from vcgym.envs.environments.vector.sender import RELATIVE
from vcgym.envs.environments.vector.settings import BottleneckSettings, taken
from vcgym.network.bottleneck.sharing import sharing
from vcgym.network.kernels.ranges import require_whole
from vcgym.network.scenarios.bottleneck.together import CallsTogether


class SharedRateVectorEnv(RateVectorEnv):
    """Rate control of calls that share a bottleneck, each by an agent of its own: the row of a batch.

    Observation, action and reward of a row are those of Rate for its call, with the relative actions. All agents act at the same time, that
    of Rate for the first call.

    The other calls join within the first 10 s and leave within the last 10 s. Before and after, the observation of a row stays the same and
    its reward is 0; its last action before is that with which the call begins. The rows of one bottleneck start and end together.

    Rows: the first call of each bottleneck, then the other calls, bottleneck by bottleneck. Bottleneck i plays world ``seed + i``.
    With `log_packets` the infos of an ended episode say how the calls shared (`vcgym.network.bottleneck.sharing`).

    Args:
        num_envs: number of bottlenecks played in parallel, >= 1; the batch has `calls` rows for each.
        calls: calls of each bottleneck, 2 to 32.
        arguments: those of Rate; `scenario` is one of a single call, here with `calls` times its capacity.
    """

    forms: ClassVar[tuple[str, ...]] = RELATIVE
    batch: SharedBatch

    def __init__(self, num_envs: int = 1, calls: int = 4, **arguments: Any) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 16))
        asked = taken(BottleneckSettings, dict(arguments))
        scenario = CallsTogether(asked.make(), calls, asked.seconds)
        self.bottlenecks, self.calls = num_envs, calls
        self._first = np.concatenate([np.arange(num_envs), np.repeat(np.arange(num_envs), calls - 1)])
        self._seeds = np.zeros(num_envs * calls, np.uint64)
        super().__init__(num_envs * calls, **(arguments | {"scenario": scenario}))

    def _new_batch(self, num_envs: int, rate: Any, order: Any, most: Worlds, **settings: Any) -> SendingBatch:
        if settings["threads"] != 1:
            raise ValueError(f"threads = {settings['threads']} of SharedRate: allowed is 1")
        return SharedBatch(self.bottlenecks, rate, order, most, **settings)

    @property
    def present(self) -> NDArray[np.bool_]:
        """True for each row whose call has begun and is not over."""
        senders = self.batch.senders
        elapsed_us = senders["now_us"][self._first] - senders["begins_us"]
        is_under_way: NDArray[np.bool_] = (elapsed_us >= 0) & (elapsed_us < senders["ends_us"])
        return is_under_way

    def outcomes(self) -> dict[str, NDArray[Any]]:
        """Return the infos of all rows as if their calls were over."""
        return self._outcomes()

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new calls, see `EpisodeVectorEnv.reset`; a mask has all calls of a bottleneck, or none."""
        mask = (options or {}).get("reset_mask")
        if mask is not None and (np.asarray(mask) != np.asarray(mask)[self._first]).any():
            raise ValueError("reset_mask of SharedRate has some calls of a bottleneck: allowed are all or none of them")
        return super().reset(seed=seed, options=options)

    def _reset_row(self, row: int, seed: int, **options: Any) -> None:
        self._seeds[row] = seed if row < self.bottlenecks else self._seeds[self._first[row]]
        super()._reset_row(row, int(self._seeds[row]), **options)

    def _choose_laws(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        super()._choose_laws(actions, rows)
        # The first call gives the time, so the others are never asked; that the instant grows says that a decision is new.
        beside = rows[rows >= self.bottlenecks]
        self.batch.rate_state.chosen["due_us"][beside] += NEVER_US // 2

    def _worlds(self) -> dict[str, NDArray[Any]]:
        return {**super()._worlds(), "seed": self._seeds}

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        return {**super()._outcomes(), **self._sharing()}

    def _sharing(self) -> dict[str, NDArray[np.float64]]:
        """Return `sharing` of each row's bottleneck, where its calls are done and logged."""
        batch = self.batch
        if batch.tables.log.shape[1] == 0:
            return {}
        links = enumerate(batch.links)
        shared = {row: sharing(link, batch.flows(row)) for row, link in links if link is not None and batch.why[row] == DONE}
        names = next(iter(shared.values()), {})
        return {name: np.array([shared[row][name] if row in shared else np.nan for row in self._first.tolist()]) for name in names}
