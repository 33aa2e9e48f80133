"""Router of a live call at its location: it learns from feedback, decides in each slot, and commands the sender when the path changes."""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.records import Record
from vcgym.live.protocol.messages import read_feedback, read_setup, write_command
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Inbox, Session, address_of, route_of
from vcgym.live.protocol.wire import Address, Header, Kind, write
from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import SLOT_US

REPEAT_SLOTS = 20
"""Slots after which a command is sent again, because it may have been lost."""


class Controller:
    """The router.

    Args:
        session: the call.
        router: parameters of the router's rule.

    Attributes:
        due_us: time of the next decision; NEVER_US before the sender's announcement and after the call.
        plans: number of commands that changed the path.
        learned: number of records that the rule was updated with.
    """

    def __init__(self, session: Session, router: Any) -> None:
        self._session, self._policy = session, RulePolicy(params_router=router)
        self._inbox = Inbox(session, Kind.FEEDBACK, Kind.SETUP)
        self._hops, self._address = route_of(session.commands), address_of(session.commands[0])
        self._known: deque[Record] = deque()
        self._origin_us, self._slot, self._path, self._repeat = -1, 0, 0, 0
        self._commands = self.plans = self.learned = 0
        self._state: Any = None
        self._decide()  # compiles and starts the rule

    @property
    def due_us(self) -> int:
        """Return the time of the next decision."""
        return NEVER_US if self._origin_us < 0 or self.is_done else self._origin_us + self._slot * SLOT_US

    @property
    def refused(self) -> int:
        """Return the number of datagrams that were refused."""
        return self._inbox.refused

    @property
    def is_done(self) -> bool:
        """Return True after the last decision of the call."""
        return self._slot >= self._session.packets

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take feedback, or answer an announcement with the first command."""
        if opened := self._inbox.open(datagram):
            header, payload = opened
            with suppress(ValueError):  # a party that has the key and writes nonsense is not obeyed
                if header.kind == Kind.FEEDBACK:
                    self._known.extend(read_feedback(payload, now_us - self._origin_us, len(self._session.media)))
                elif self.learned == 0:  # the sender puts slot 0 off until it has a command
                    self._origin_us, self._slot = read_setup(payload), 1
                    yield self._command(now_us)

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Decide for each slot that has begun; return the commands."""
        while self.due_us <= now_us:
            before = self._path
            self._decide()
            self.plans += self._path != before
            self._repeat = REPEAT_SLOTS if self._path != before else self._repeat - 1
            if self._path != before or self._repeat == 0:
                self._repeat = REPEAT_SLOTS
                yield self._command(now_us)
            self._slot += 1

    def _decide(self) -> None:
        """Update the rule with the records known at the start of the slot, and decide."""
        rows = []
        while self._known and self._known[0].known_us <= self._slot * SLOT_US:
            rows.append(self._known.popleft())
        observation = {
            "records": np.array([[*rows, *([Record(0, 0, 0, 0, 0, 0, 0, 0)] if not rows else [])]], np.int64),
            "count": np.array([len(rows)]),
            "history": self._session.known[None],
            "key": np.array([rng.stream_key(np.uint64(self._session.seed), 0, rng.POLICY)], np.uint64),
            "slot": np.array([self._slot]),
        }
        self.learned += len(rows)
        actions, self._state = self._policy.predict(observation, self._state)
        self._path = int(actions[0])

    def _command(self, now_us: int) -> Sent:
        header = Header(Kind.COMMAND, 0, self._session.number, self._commands, now_us, self._hops)
        self._commands += 1
        return write(header, write_command(self._path), self._session.secret), self._address
