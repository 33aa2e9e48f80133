"""Packets of a sender whose fate is known."""

from vcgym.envs.call.sender.events import is_done
from vcgym.network.kernels.jit import kernel


@kernel
def settled(sender, counts):
    """Return how many packets of one kind a report has told of, or were never sent; at the end of the call, all."""
    return counts.created if is_done(sender) else counts.rejected + counts.discarded + counts.delivered + counts.lost
