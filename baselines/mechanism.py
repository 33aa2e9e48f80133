"""How a receiver rule's level is held: by a watermark or by a count buffer of either kind.

    WATERMARK   the level is a lag: the watermark is the largest (sent time - lag) so far; what is older than it is late
    COUNT       the level is a target: the buffer holds ceil(target / packet) + 1 packets, then lets the oldest go
    PUBLISHED   the level is a target: before a packet goes in, the oldest go while more than target / packet are held; nothing is refused

The numbers are those of `vcgym.network.playout.receiver`. A receiver rule names its mechanism once, with `holds`; `mechanism(params)` is
then a
constant inside compiled loops.
"""

import numpy as np

from vcgym.network.kernels.by_type import constant_by_type
from vcgym.network.kernels.jit import kernel

_MECHANISMS: dict[type, int] = {}


def holds(params_class: type, number: int) -> None:
    """Declare that the levels decided by rules of class `params_class` are held by mechanism `number`."""
    _MECHANISMS[params_class] = number


# WATERMARK, COUNT or PUBLISHED, by the class of the parameters.
mechanism = constant_by_type(_MECHANISMS.__getitem__)


@kernel
def microseconds(duration_ms):
    """A duration in ms as int64 microseconds, to the nearest."""
    return np.int64(np.rint(duration_ms * 1000.0))
