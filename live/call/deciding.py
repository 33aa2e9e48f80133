"""Router's half of a live call: the policy's environment over a world outside, to which feedback comes from the network.

The environment is the one of the policy's training or of the leaderboard. Its loop plays one slot at a time; a record that arrives is put
into the feed to the router's location with its measured delay. So observations and actions are the simulator's, value for value.
"""

from typing import Any

import numpy as np

from vcgym.baselines.records import Record
from vcgym.baselines.rule import COMMANDED, decided
from vcgym.envs.call.features.records import RECORDS_SHOWN
from vcgym.envs.call.paths.feed import append
from vcgym.live.call.outside import draw_of, outside
from vcgym.live.call.policies import LivePolicy
from vcgym.live.protocol.session import Session
from vcgym.network.kernels.jit import kernel

_ROW = np.zeros(1, np.int64)


class Deciding:
    """State of the router's location in one call.

    Args:
        session: the call.
        policy: what decides.

    Attributes:
        slot: slots decided so far.
    """

    def __init__(self, session: Session, policy: LivePolicy) -> None:
        self._policy, self._state, self.slot = policy.policy, None, 0
        self._envs = policy.environment(outside(session, session.packets))
        self._batch, self._interval = self._envs.batch, self._envs.controls.interval
        self._batch.calls["interval"] = 1
        self._batch.start(0, draw_of(session), session.known)
        self._envs.observer.clear(0)
        self._envs.observer.begin(_ROW)
        self._observation, self._parts = _allocated(self._envs)
        self._batch.advance(_ROW)

    def learn(self, record: Record) -> None:
        """Take a record that has reached the location; one beyond RECORDS_SHOWN between two decisions is lost."""
        _learn(self._batch.calls, record)

    @property
    def learned(self) -> int:
        """Return the number of records that have arrived."""
        return int(self._batch.calls[0]["feed"]["written"])

    def decide(self) -> tuple[int, int | None]:
        """Decide for the next slot; return the path and, for a receiver whose level is commanded, the level in microseconds."""
        if self.slot % self._interval == 0:
            self._envs.observer.write(_ROW, self._parts)
            actions, self._state = self._policy.predict(self._observation, self._state, np.array([self.slot == 0]), deterministic=True)
            self._envs.answer(np.asarray(actions), _ROW)
        self._batch.advance(_ROW)
        self.slot += 1
        call = self._batch.calls[0]
        has_level = decided(self._batch.receiver) == COMMANDED
        return int(call["to_sender"]["latest"]), int(call["to_receiver"]["latest"]) if has_level else None


def _allocated(envs: Any) -> tuple[Any, dict[str, Any]]:
    """Return an observation of one session, and views of its parts."""
    if envs.observation_kind == "features":
        flat = np.zeros(envs.observation_space.shape, np.float32)
        return flat, envs.layout.split(flat)
    parts = {name: np.zeros(space.shape, space.dtype) for name, space in envs.observation_space.items()}
    return parts, parts


@kernel
def _learn(calls, record):
    feed = calls[0].feed
    if feed.written - feed.read < RECORDS_SHOWN:
        feed.delay_us = record.known_us - record.arrived_us
        append(feed, record)
