"""Protection at the sender of a live call: what the rule adds to each packet, within the budget of bytes.

Rule, order and budget are those of a simulated call (`vcgym.envs.call.paths.protecting`), bytes are those on the network: earlier frames go
along as RED, what goes again is a copy of the RTP packet on any path. What does not fit a block of RED or a datagram is left out like what
cannot be paid: an earlier frame and all older ones. Repair packets and coarse frames are not sent, so rules that rest on them are refused;
those that `HeldCopies` asks for in place of its copies are left out.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from vcgym.baselines.controls.control import CONTROLS, Control
from vcgym.baselines.protection.fixed import FixedProtection
from vcgym.baselines.protection.protect import DISTANCES, NONE, in_band, protect
from vcgym.baselines.protection.several import BothProtections, ByBudget, at_budget
from vcgym.baselines.records import MEDIA, Record
from vcgym.baselines.rule import allocate, for_kernels, start_row, update
from vcgym.baselines.system_files import published, system_names
from vcgym.baselines.systems import load_system
from vcgym.envs.call.paths.protecting import BUCKET_SLOTS
from vcgym.live.protocol.media import BLOCK_BYTES, FARTHEST, LONGEST, OWN_BYTES, RTP_BYTES, SLOT_BYTES, Frames, write_media
from vcgym.live.protocol.session import Session, route_of
from vcgym.live.protocol.wire import IP_UDP_BYTES, MAX_DATAGRAM, network_bytes
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US


def protection_of(named: str) -> Any:
    """Return the rule of the protection of a system.

    Raises:
        ValueError: there is no such system, or it has no protection that a live call can send.
    """
    rule = load_system(named).protection if named in system_names() else None
    if rule is None or not _is_sent_live(rule):
        rules = {name: load_system(name).protection for name in sorted(published())}
        allowed = ", ".join(name for name, one in rules.items() if one is not None and _is_sent_live(one))
        raise ValueError(f"protection is {named}; allowed, as live calls send copies and earlier frames alone: {allowed}")
    return rule


def _is_sent_live(rule: Any) -> bool:
    if isinstance(rule, BothProtections):
        return _is_sent_live(rule.first) and _is_sent_live(rule.second)
    if isinstance(rule, ByBudget):
        return _is_sent_live(rule.within) and _is_sent_live(rule.beyond)
    return type(rule) not in in_band.versions and not (isinstance(rule, FixedProtection) and rule.repair)


class LiveProtection:
    """Protection of one call by a rule, one of `protection_of`.

    The budget is the share of the bytes without protection that may go beyond them, at least 0.

    Attributes:
        plain_bytes: bytes of the packets so far without protection, on the network.
        extra_bytes: bytes beyond them.
    """

    def __init__(self, session: Session, rule: Any, budget: float) -> None:
        rule = at_budget(rule, budget)
        self._rule, self._budget, self._ssrc = for_kernels(rule), budget, session.number
        self._hops = [route_of(hops) for hops in session.media]
        self._state = allocate(rule, 1, len(self._hops))
        key = rng.stream_key(np.uint64(session.seed), CONTROLS[Control.PROTECTION].stream, rng.POLICY)
        start_row(self._rule, self._state, 0, session.known, key)
        self.learn(Record(MEDIA, 0, 0, 0, 1, 1, 0, 0))  # compiles, as the next one does, and is forgotten
        _protect(self._rule, self._state, 0, 0)
        start_row(self._rule, self._state, 0, session.known, key)
        self._bucket, self.plain_bytes, self.extra_bytes = 0.0, 0, 0
        self._frames: deque[bytes] = deque(maxlen=FARTHEST)  # of the packets before, from the newest on
        self._packets: deque[bytes] = deque(maxlen=DISTANCES + 1)

    @property
    def added(self) -> float:
        """Return the bytes beyond the packets without protection as a share of theirs; 0 before the first."""
        return self.extra_bytes / max(self.plain_bytes, 1)

    def learn(self, record: Record) -> None:
        """Take a record that has reached the sender."""
        _learn(self._rule, self._state, record)

    def send(self, slot: int, path: int, opus: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
        """Return the RTP packet of a slot for its path, and the packets that go again in it, each with its path."""
        hops = self._hops[path]
        plain = network_bytes(hops, RTP_BYTES + len(opus))
        self.plain_bytes += plain
        mean = self.plain_bytes / (slot + 1)
        self._bucket = min(self._bucket + self._budget * plain, self._budget * mean * BUCKET_SLOTS)
        wanted = _protect(self._rule, self._state, slot * SLOT_US, path)
        packet = write_media(self._ssrc, slot, opus, self._carried(wanted.earlier, plain))
        self._frames.appendleft(opus)
        self._packets.appendleft(packet)
        further = [one for one in (wanted.path, wanted.second) if one != NONE]
        return packet, [(one, again) for one in further for again in self._again(wanted.again, one)]

    def _carried(self, wanted: int, size: int) -> Frames:
        """Return the earlier frames of a packet that would be of `size` bytes without them."""
        carried: list[tuple[int, bytes]] = []
        for distance, frame in enumerate(self._frames, 1):
            if not wanted >> distance & 1:
                continue
            more = BLOCK_BYTES + len(frame) + (0 if carried else OWN_BYTES)
            fits = len(frame) <= LONGEST and size + more <= MAX_DATAGRAM + IP_UDP_BYTES - SLOT_BYTES
            if not fits or not self._pay(more):
                break
            size += more
            carried.append((distance, frame))
        return carried

    def _again(self, wanted: int, path: int) -> Iterable[bytes]:
        """Yield the packets that go again on a path, from the newest to the oldest."""
        for age, packet in enumerate(self._packets):
            if wanted >> age & 1:
                if not self._pay(network_bytes(self._hops[path], SLOT_BYTES + len(packet))):
                    return
                yield packet

    def _pay(self, size: int) -> bool:
        if self._bucket < size:
            return False
        self._bucket -= size
        self.extra_bytes += size
        return True


@kernel
def _protect(rule, state, now_us, path):
    return protect(rule, state, 0, now_us, path)


@kernel
def _learn(rule, state, record):
    update(rule, state, 0, record)
