"""Observations of one agent in a batch of calls over paths, at the path's location or at the receiver: features, or records."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.controls.control import Control
from vcgym.baselines.from_agent import REMOTE, origin_of
from vcgym.baselines.rule import for_kernels, start
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.features.added import CALL, PATHS, Added, NoFeatures, chain, features_of
from vcgym.envs.call.features.forecast import forecast_by
from vcgym.envs.call.features.layout import ObservationLayout, ObservationPart
from vcgym.envs.call.features.losses import LOSSES_PART, LossStats, observe_losses
from vcgym.envs.call.features.observe import (
    RECORDS_SHOWN,
    allocate_features,
    call_layout,
    clear_features,
    observe_arrival,
    observe_feed,
    show_arrival,
    show_feed,
)
from vcgym.envs.call.features.relative import allocate_slots, fill_slots, relative_layout
from vcgym.envs.environments.vector.settings import RELATIVE, CallAgentSettings
from vcgym.network.kernels.record import plain, records
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.worlds.world import HISTORY_BLOCKS

MAX_DELAY_MS = SLOTS * SLOT_US / 1000.0  # limit of the calendar of packets in flight
_NO_LOSSES = records(LossStats, 1)


class Observer:
    """Observation of one agent, computed from the records that have reached it.

    Attributes:
        added: features added to the default ones.
        layout: parts of an observation.
        slots: source and content of the slots of the relative actions; None for other forms.

    Args:
        batch: the calls.
        agent: settings of the agent.
        at_arrivals: True for an agent at the receiver, which observes each arrival but no paths.

    Raises:
        ValueError: added features do not fit the observation.
    """

    def __init__(self, batch: CallBatch, agent: CallAgentSettings, at_arrivals: bool) -> None:
        self.batch, self.kind, self.at_arrivals = batch, agent.observation, at_arrivals
        self.added = _added_features(agent, at_arrivals)
        self._compiled = for_kernels(self.added)
        self._features = plain(allocate_features(batch.sessions, batch.scenario.paths, self.added))
        self._no_paths = np.zeros((batch.sessions, 0, 0), np.float32)
        path_names = () if at_arrivals else batch.scenario.layout.path_names
        protecting = batch.protecting
        self._protected = protecting.rows if protecting is not None and origin_of(protecting.rule) == REMOTE else None
        self._losses = records(LossStats, batch.sessions)
        others = [part for part in (batch.uplink.part, LOSSES_PART if self._protected is not None else None) if part]
        whole = call_layout(path_names, *others, of_path=features_of(self.added, PATHS), of_call=features_of(self.added, CALL))
        self.slots = allocate_slots(batch.sessions, whole) if agent.action in RELATIVE else None
        self.layout = self._records() if self.kind == "records" else whole if self.slots is None else relative_layout(whole)

    def _records(self) -> ObservationLayout:
        highest, paths = np.iinfo(np.int64).max, self.batch.scenario.paths
        history = np.tile([HISTORY_BLOCKS * BLOCK_SLOTS, MAX_DELAY_MS, MAX_DELAY_MS], (paths, 1)).astype(np.float64)
        parts: dict[str, spaces.Box] = {
            "count": spaces.Box(0, RECORDS_SHOWN, (), np.int64),
            "history": spaces.Box(np.zeros_like(history), history, dtype=np.float64),
            "key": spaces.Box(0, np.iinfo(np.uint64).max, (), np.uint64),
            "records": spaces.Box(-1, highest, (RECORDS_SHOWN, 8), np.int64),
            "slot": spaces.Box(0, highest, (), np.int64),
        }
        return ObservationLayout(*(ObservationPart(name, box=space) for name, space in parts.items()))

    def clear(self, row: int) -> None:
        """Forget the call in `row`; a new one has just been started there."""
        clear_features(self._features, row, self.batch.history[row])
        self._losses[row] = _NO_LOSSES[0]

    def begin(self, rows: NDArray[np.int64]) -> None:
        """Start the added features of all sessions that have just been started."""
        if not isinstance(self._compiled, NoFeatures):
            begun = np.isin(np.arange(self.batch.sessions), rows)
            start(self._compiled, self._features.added, begun, self.batch.history, np.zeros(self.batch.sessions, np.uint64))

    def write(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        """Update the observations of `rows` in `shown`, arrays (sessions, *shape) by part; pass the same arrays every time.

        Raises:
            OverflowError: more records have arrived since the last decision than an observation holds.
        """
        batch = self.batch
        if self.kind != "records":
            self._write_features(rows, shown)
            return
        shown["history"][rows] = batch.history[rows]
        shown["slot"][rows] = batch.calls["slot"][rows]
        shown["key"][rows] = [batch.key(row, Control.PLAYOUT if self.at_arrivals else Control.PATH) for row in rows]
        shown["records"][rows] = 0
        if self.at_arrivals:
            show_arrival(batch.calls, rows, batch.playout, shown["records"], shown["count"])
        elif not show_feed(batch.calls, rows, shown["records"], shown["count"]):
            raise OverflowError(f"more than {RECORDS_SHOWN} records have arrived since the last decision: use a smaller interval")

    def _write_features(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch, slots = self.batch, self.slots
        paths, call = shown.get("paths" if slots is None else "slots", self._no_paths), shown["call"]
        of_paths, of_call = (paths, call) if slots is None else (slots.paths, slots.call)
        if self._protected is not None:
            observe_losses(batch.calls, rows, self._losses, self._protected, shown["losses"])
        if self.at_arrivals:
            observe_arrival(batch.calls, rows, self._features, batch.playout, self._compiled, of_paths, of_call)
        else:
            observe_feed(batch.calls, rows, self._features, batch.history, self._compiled, of_paths, of_call)
        if slots is not None:
            fill_slots(rows, slots, paths, call)
        if batch.uplink.part:
            batch.uplink.observe(batch.calls, rows, shown["sender"])


def _added_features(agent: CallAgentSettings, at_arrivals: bool) -> Added | NoFeatures:
    """Return the added features, the forecast of a predictor first.

    Raises:
        ValueError: features do not fit the observation.
    """
    predictor, features = agent.predictor, agent.features or ()
    if predictor is not None and (at_arrivals or agent.observation == "records"):
        kind = type(predictor).__name__
        raise ValueError(f"predictor is a {kind}: allowed is None unless the agent sets the path and observes features")
    added = chain([*([] if predictor is None else [forecast_by(predictor)]), *features])
    if at_arrivals and features_of(added, PATHS):
        raise ValueError(f"features = {features!r}: allowed are features of the call for an agent at the receiver")
    return added
