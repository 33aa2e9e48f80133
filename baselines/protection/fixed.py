"""Fixed protection, whatever the network does: frames at fixed distances, blocks of repair packets, copies on further paths.

Frames of earlier packets are RED (RFC 2198): `earlier=(1,)` is what libwebrtc has sent since August 2021, a field trial and one frame more
before. `repair` packets after each `covers` are a block code such as FlexFEC (RFC 8627); they go out one by one with the packets that
follow the block. Copies are those of RFC 7198, on the paths with the smallest expected delays next to the packet's own; they alone need
records.
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.protection.protect import DISTANCES, NONE, SETS, protection
from vcgym.baselines.protection.seen import SeenPath, fastest_other, see_path, start_seen_paths
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Rows, rule
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at


@rule(Control.PROTECTION, learns=False)
class FixedProtection(NamedTuple):
    """Parameters: `earlier` is a set as in `Protection`; `repair` packets, at most `covers`; packet interval."""

    earlier: Annotated[int, SETS] = 0
    repair: Annotated[int, (0, DISTANCES)] = 0
    covers: int = 0
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0

    def check(self):
        """Reject blocks that are shorter than their repair."""
        require_within(self, covers=(self.repair, DISTANCES))

    def protect(self, now_us, path):
        covers, behind, packet = 0, 0, packet_at(now_us, self.packet_ms)
        if self.repair > 0:
            behind = packet % self.covers + 1
            covers = self.covers if behind <= self.repair and packet >= self.covers else 0
        return protection(self.earlier, covers=covers, behind=behind)


@rule(Control.PROTECTION, paths=Rows(SeenPath))
class FixedCopies(NamedTuple):
    """Parameters: copies of each packet, and packets from it to them."""

    copies: Annotated[int, (1, 2)] = 1
    after: Annotated[int, (0, DISTANCES)] = 0

    def init(self, paths, start, key):
        start_seen_paths(paths, start)

    def update(self, paths, record):
        see_path(paths, record)

    def protect(self, paths, now_us, path):
        first = fastest_other(paths, now_us, path, NONE)
        second = fastest_other(paths, now_us, path, first) if self.copies > 1 else NONE
        return protection(again=1 << self.after, path=first, second=second)
