"""First in, first out; a full queue rejects new packets: the unmodified DCCP queue of the seed paper on SBPN."""

from typing import NamedTuple

from vcgym.baselines.order.scheduler import REJECT, choose, choose_victim
from vcgym.baselines.rule import Control, rule


@rule(Control.ORDER, learns=False)
class Fifo(NamedTuple):
    """Rule without parameters."""


@choose.register(Fifo)
def _choose(params, queue, now_us, rtt_us):
    return 0


@choose_victim.register(Fifo)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    return REJECT
