"""A sender that keeps still for longer than the receiver's rings are long: what is older than they are will not come any more.

Over paths alone such a silence is an error, since every slot sends a packet. Behind a bottleneck it is a decision: a rule of the sender may
fall silent for good. So the oldest packet is given up, slot by slot: it counts as missed, and the player goes on behind it.
"""

from vcgym.network.jit import kernel
from vcgym.network.player import NEVER_US
from vcgym.network.receiver import flush
from vcgym.network.slot_window import WINDOW_SLOTS
from vcgym.network.wire import SLOTS


@kernel
def make_place(call, tables, s):
    """Make room for the packet of this slot in the rings of receiver, player and window."""
    packet = call.slot
    if packet - call.receiver.passed >= SLOTS:
        flush(call.receiver, tables.log, s, call.receiver.passed + 1)
    if packet - call.window.newest >= SLOTS - WINDOW_SLOTS:
        call.window.newest = packet - (SLOTS - WINDOW_SLOTS) + 1
    _go_on_behind(tables.player.clock[s], packet - tables.player.awaited.shape[1] + 1)


@kernel
def _go_on_behind(clock, oldest):
    """Let the player forget units before `oldest`; what has been heard of the underrun moves with it."""
    before = max(clock.next_unit, 0)
    if before >= oldest:
        return
    clock.next_unit = oldest
    if clock.first_us == NEVER_US:
        clock.underrun_ticks = SLOTS  # the first packet to come starts the player wherever it stands
    else:
        clock.underrun_ticks = max(clock.underrun_ticks - (oldest - before), 0)
