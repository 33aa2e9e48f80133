"""A batch of calls of which several share each bottleneck, all of them rows of the batch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import allocate
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.envs.call.sender.events import Sender
from vcgym.envs.call.sender.in_flight import allocate_flight
from vcgym.envs.call.sender.other_calls import OtherCalls
from vcgym.envs.call.sender.state import SenderState
from vcgym.envs.call.shards import Shards
from vcgym.envs.call.stages import DONE, Stages
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.record import plain, records


class SharedBatch(SendingBatch):
    """Calls over shared bottlenecks, with the agents of all their calls.

    Rows are calls: first the first call of each bottleneck, then the other calls, bottleneck by bottleneck. `start` starts all calls of a
    bottleneck by the row of the first, and does nothing for the others. A bottleneck is played until the agent of its first call must
    decide; those of the others must not be asked.

    Args:
        bottlenecks: number of bottlenecks, >= 1.
        rate: placeholder of an agent.
        order: a scheduler.
        worlds: what the worlds have at most.
        settings: other arguments of `SendingBatch`.
    """

    decides_for_all = True

    def __init__(self, bottlenecks: int, rate: Any, order: Any, worlds: Worlds, **settings: Any) -> None:
        super().__init__(bottlenecks, rate, order, worlds._replace(same=True), **settings)
        self.bottlenecks, self.calls = bottlenecks, 1 + worlds.calls
        self.sessions = bottlenecks * self.calls
        self.shards, self.why = Shards(self.sessions, 1), np.full(self.sessions, DONE)
        first, rest = slice(bottlenecks), slice(bottlenecks, None)
        self.senders, flight = plain(records(SenderState, self.sessions)), allocate_flight(self.sessions)
        self.rate_state, self.history = plain(allocate(rate, self.sessions, 1)), np.zeros((self.sessions, 1, 3))
        others: OtherCalls = self.tables.others
        others = others._replace(
            senders=self.senders[rest],
            tables=others.tables._replace(flight=_rows(flight, rest)),
            rate_state=_rows(self.rate_state, rest),
            history=self.history[rest],
        )
        self.tables = self.tables._replace(flight=flight, others=others)
        tables = self.tables._replace(flight=_rows(flight, first))
        self._first = Sender(self.senders[first], tables, self.rate, _rows(self.rate_state, first), self.order, self.order_state)

    def start(self, row: int, link: SharedLink) -> None:
        if row < self.bottlenecks:
            super().start(row, link)

    @property
    def stages(self) -> Stages:
        return Stages(self.why, self._first)

    def advance(self, rows: NDArray[np.int64]) -> None:
        super().advance(rows[rows < self.bottlenecks])
        self.why[self.bottlenecks :] = np.repeat(self.why[: self.bottlenecks], self.calls - 1)


def _rows(state: Any, which: slice) -> Any:
    """Return views of some rows of a state, an array or a NamedTuple of states."""
    return type(state)(*(_rows(part, which) for part in state)) if isinstance(state, tuple) else state[which]
