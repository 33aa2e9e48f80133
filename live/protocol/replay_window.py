"""Replay window (RFC 4302, appendix B): accepts each packet number once, and none that is far below the newest."""

WINDOW = 4096
"""Numbers below the newest that are still accepted: 41 s of a call, the longest delay that a call can have."""
_MASK = (1 << WINDOW) - 1


class ReplayWindow:
    """Numbers seen of one kind in one session."""

    def __init__(self) -> None:
        self._newest = -1
        self._seen = 0  # bit n: number newest - n was seen

    def accept(self, number: int) -> bool:
        """Return True if `number` >= 0 is new, and remember it."""
        ahead = number - self._newest
        if ahead > 0:
            self._seen = (self._seen << ahead & _MASK if ahead < WINDOW else 0) | 1
            self._newest = number
            return True
        bit = 1 << -ahead
        if -ahead >= WINDOW or self._seen & bit:
            return False
        self._seen |= bit
        return True
