"""Packet feedback at a remote agent's location, delayed by the travel time of a command from there to the sender."""

from vcgym.envs.call.sender.in_flight import ring_index
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US


@kernel
def show_remote_feedback(uplink, calls, which, shown, feedback, count):
    """Write the new packet feedback at the location, in order of sending, as rows of `PacketFeedback`.

    Args:
        uplink: an Uplink.
        calls: (sessions,) of CALL.
        which: sessions.
        shown: (sessions,), number of packets known to the agent; updated.
        feedback: (sessions, rows, 6).
        count: (sessions,).

    Returns:
        False if they do not fit.
    """
    flight, departures = uplink.tables.flight, uplink.tables.departures
    for s in which:
        now_us = (calls[s].slot - uplink.remote[s].status_slots) * SLOT_US
        count[s] = 0
        while shown[s] < uplink.senders[s].reported and departures.known_us[s, ring_index(shown[s])] <= now_us:
            if count[s] == feedback.shape[1]:
                return False
            index, row = ring_index(shown[s]), feedback[s, count[s]]
            row[0], row[1], row[2] = shown[s], flight.size_bytes[s, index], flight.sent_us[s, index]
            row[3], row[4] = departures.told_us[s, index], departures.known_us[s, index]
            row[5] = flight.marked[s, index]
            shown[s] += 1
            count[s] += 1
    return True
