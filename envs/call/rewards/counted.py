"""Number of a sender's packets with a known outcome."""

from vcgym.envs.call.sender.events import is_done
from vcgym.network.kernels.jit import kernel


@kernel
def settled(sender, counts):
    """Return the number of packets of one kind that were reported or never sent; at the end of the call, all of them."""
    return counts.created if is_done(sender) else counts.rejected + counts.discarded + counts.delivered + counts.lost
