"""First in, first out, and a full queue rejects what comes: the unmodified DCCP queue of the seed paper on SBPN."""

from typing import NamedTuple

from vcgym.baselines.order_rule import REJECT, choose, make_room, orders


class Fifo(NamedTuple):
    """No parameters."""


@orders(choose, Fifo)
def _choose(params, queue, now_us, rtt_us):
    return 0


@orders(make_room, Fifo)
def _make_room(params, queue, kind, expires_us, now_us, rtt_us):
    return REJECT
