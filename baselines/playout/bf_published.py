"""BF exactly as in its published code: the target of `buffer_target.py` with the published count buffer.

That buffer emits before it inserts and discards nothing on arrival; a packet emitted behind a newer one counts as lost
(`vcgym.network.playout.receiver`). Its steady-state wait is one packet longer than the target.
"""

from typing import NamedTuple

from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.generic import forward
from vcgym.network.playout.receiver import PUBLISHED


@rule(Control.PLAYOUT, buffer=PUBLISHED)
class PublishedBuffer(NamedTuple):
    target: NetEqTarget = NetEqTarget()


forward(PublishedBuffer, "target", allocate, init, update, decide)
