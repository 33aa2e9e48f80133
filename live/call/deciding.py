"""Router's half of a live call: the policy's environment over a world outside, to which feedback comes from the network.

The environment is the one of the policy's training or of the leaderboard. Its loop plays one slot at a time; a record that arrives is put
into the feed to the router's location with its measured delay. So observations and actions are the simulator's, value for value.
"""

import numpy as np

from vcgym.baselines.from_agent import REMOTE, origin_of
from vcgym.baselines.records import Record
from vcgym.envs.call.features.records import RECORDS_SHOWN
from vcgym.envs.call.paths.feed import append
from vcgym.live.call.actor import Actor
from vcgym.live.call.outside import outside
from vcgym.live.call.policies import Acting
from vcgym.live.protocol.session import Session
from vcgym.network.kernels.jit import kernel

_ROW = np.zeros(1, np.int64)


class Deciding:
    """State of the router's location in one call.

    Args:
        session: the call.
        acting: what decides.

    Attributes:
        slot: slots decided so far.
    """

    def __init__(self, session: Session, acting: Acting) -> None:
        envs = acting.environment(outside(session, session.packets))
        self._actor, self._batch, self._interval, self.slot = Actor(session, acting.policy, envs), envs.batch, envs.interval, 0
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
            self._actor.act()
        self._batch.advance(_ROW)
        self.slot += 1
        call = self._batch.calls[0]
        has_level = origin_of(self._batch.playout) == REMOTE
        return int(call["to_sender"]["latest"]), int(call["to_receiver"]["latest"]) if has_level else None


@kernel
def _learn(calls, record):
    feed = calls[0].feed
    if feed.written - feed.read < RECORDS_SHOWN:
        feed.delay_us = record.known_us - record.arrived_us
        append(feed, record)
