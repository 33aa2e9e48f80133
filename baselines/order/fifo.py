"""First in, first out; a full queue rejects new packets: the unmodified DCCP queue of the seed paper on SBPN."""

from typing import NamedTuple

from vcgym.baselines.order.scheduler import REJECT
from vcgym.baselines.rule import Control, rule


@rule(Control.ORDER, learns=False)
class Fifo(NamedTuple):
    """Rule without parameters."""

    def choose(self, queue, now_us, rtt_us):
        return 0

    def choose_victim(self, queue, kind, expires_us, now_us, rtt_us):
        return REJECT
