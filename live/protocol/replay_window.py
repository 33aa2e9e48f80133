"""Protection against replays: a window of packet numbers (RFC 4302, appendix B) and a window of send times.

The numbers that a node has seen are lost when it starts again or when it gives the room of a silent session to another one. Send times
refuse what was sent before.
"""

from vcgym.network.kernels.slots import SLOT_US

WINDOW = 4096
"""Numbers below the newest that are still accepted: 41 s of a call, the longest delay that a call can have."""
FRESH_US = WINDOW * SLOT_US
"""Maximum age of a datagram: the longest delay that a call can have."""
AHEAD_US = 5_000_000
"""Maximum by which a send time may lie in the future, because clocks differ."""
_MASK = (1 << WINDOW) - 1


def is_fresh(sent_us: int, now_us: int) -> bool:
    """Return True if a datagram that arrives at `now_us` was sent at most FRESH_US before and at most AHEAD_US later."""
    return -AHEAD_US <= now_us - sent_us <= FRESH_US


class ReplayWindow:
    """Numbers seen of one kind in one session."""

    def __init__(self) -> None:
        self._newest = -1
        self._seen = 0  # bit n: number newest - n was seen

    def is_new(self, number: int) -> bool:
        """Return True if `number` >= 0 was not seen and is not far below the newest."""
        behind = self._newest - number
        return behind < 0 or (behind < WINDOW and not self._seen >> behind & 1)

    def accept(self, number: int) -> bool:
        """Return True if `number` >= 0 is new, and remember it."""
        if not self.is_new(number):
            return False
        ahead = number - self._newest
        if ahead > 0:
            self._seen = self._seen << min(ahead, WINDOW) & _MASK
            self._newest = number
        self._seen |= 1 << self._newest - number
        return True
