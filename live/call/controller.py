"""Router's location of a live call: it learns from feedback, decides, and commands sender and receiver when a decision changes.

Decisions are those of the policy's environment over a world outside: the environment of its training or of the leaderboard. Its loop plays
one slot at a time; a record that arrives is put into the feed to the router's location with its measured delay. So observations and actions
are the simulator's, value for value.
"""

from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from vcgym.baselines.from_agent import REMOTE, origin_of
from vcgym.baselines.records import Record
from vcgym.envs.call.features.observe import RECORDS_SHOWN
from vcgym.envs.call.paths.feed import append
from vcgym.live.call.outside import Actor, outside
from vcgym.live.call.policies import Acting, LivePolicy
from vcgym.live.protocol.messages import read_feedback, read_setup, write_command, write_level
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Inbox, Session, address_of, route_of
from vcgym.live.protocol.wire import Address, DatagramKind, Header, write
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

_ROW = np.zeros(1, np.int64)


class Deciding:
    """State of the router's location in one call; `slot` is the number of slots decided so far."""

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


REPEAT_SLOTS = 20
"""Slots after which a command is sent again, because it may have been lost."""


class Controller:
    """The router's location in a call.

    Attributes:
        due_us: time of the next decision; NEVER_US before the sender's announcement and after the call.
        inbox: filter of what arrives.
        plans: number of commands that changed the path.
        learned: number of records that have arrived.
    """

    def __init__(self, session: Session, policy: LivePolicy) -> None:
        self._session, self._policy = session, policy
        self.inbox = Inbox(session, DatagramKind.FEEDBACK, DatagramKind.SETUP)
        self._to_sender = route_of(session.commands), address_of(session.commands[0])
        self._to_receiver = route_of(session.levels), address_of(session.levels[0])
        self._origin_us, self._repeat, self._passed_on = -1, 0, 0
        self._commands = self.plans = 0
        self._start()  # compiles

    @property
    def due_us(self) -> int:
        return NEVER_US if not self.has_begun or self.is_done else self._origin_us + self._deciding.slot * SLOT_US

    @property
    def learned(self) -> int:
        return self._deciding.learned

    @property
    def has_begun(self) -> bool:
        """Return True after the sender's announcement."""
        return self._origin_us >= 0

    @property
    def slot(self) -> int:
        """Return the number of slots decided so far."""
        return self._deciding.slot

    @property
    def is_done(self) -> bool:
        """Return True after the last decision of the call."""
        return self.slot >= self._session.packets

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take feedback, and pass it on to a sender with protection; or answer an announcement with the first commands."""
        if opened := self.inbox.open(datagram, now_us):
            header, payload = opened
            with suppress(ValueError):  # a party that has the key and writes nonsense is not obeyed
                if header.kind == DatagramKind.FEEDBACK:
                    if self.has_begun:
                        for record in read_feedback(payload, now_us - self._origin_us, len(self._session.media), self._session.packets):
                            self._deciding.learn(record)
                        if self._policy.protection is not None:
                            yield self._command(DatagramKind.ONWARD, self._to_sender, payload, self._passed_on, now_us)
                            self._passed_on += 1
                elif self.learned == 0:  # the sender puts slot 0 off until it has a command
                    self._origin_us = read_setup(payload, now_us)
                    if self._deciding.slot > 1:
                        self._start()
                    yield from self._plan(now_us)

    def _start(self) -> None:
        self._deciding = Deciding(self._session, self._policy.at_path)
        self._path, self._level_us = self._deciding.decide()

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Decide for each slot that has begun; return the commands of the last decision if it is another one, or must be repeated."""
        before = self._path, self._level_us
        while self.due_us <= now_us:
            self._path, self._level_us = self._deciding.decide()
            self._repeat -= 1
        self.plans += self._path != before[0]
        if (self._path, self._level_us) != before or self._repeat <= 0:
            yield from self._plan(now_us)

    def _plan(self, now_us: int) -> Iterable[Sent]:
        """Return the commands of the decisions in force."""
        self._repeat = REPEAT_SLOTS
        yield self._command(DatagramKind.COMMAND, self._to_sender, write_command(self._path), self._commands, now_us)
        if self._level_us is not None:
            yield self._command(DatagramKind.LEVEL, self._to_receiver, write_level(self._level_us), self._commands, now_us)
        self._commands += 1

    def _command(self, kind: DatagramKind, to: tuple[bytes, Address], payload: bytes, number: int, now_us: int) -> Sent:
        hops, address = to
        return write(Header(kind, 0, self._session.number, number, now_us, hops), payload, self._session.secret), address
