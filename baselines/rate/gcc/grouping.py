"""GCC, first stage: packets are grouped; the delay variation between groups is measured.

A group contains packets sent within 5 ms. With the pre-filter, a packet also joins the group if it arrives in a burst caused by the network
and not by the sender, so that packets held and released by a Wi-Fi outage do not look like a draining queue.

When a packet opens a group and there are two complete groups, the one just closed, i, and i - 1, they give a sample:

    d = (complete_i - complete_{i-1}) - (departed_i - departed_{i-1})

complete: arrival of the last packet added; departed: latest send time. The sample's time is the arrival of the packet that opens the group.

`WEBRTC`  libwebrtc's inter_arrival_delta: latest in `add_webrtc`, send side, in microseconds; a sample's time in whole ms.
`DRAFT`   draft-ietf-rmcat-gcc-02, sections 5.2 and 5.3, with the pre-filter measured from the group's first departure: `add_draft`.

Left out: the receive-side path (remote_bitrate_estimator), with 24-bit send times, arrivals in whole ms and its own rate window.
"""

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

WEBRTC, DRAFT = 0, 1

GROUP_US = 5_000  # draft-02 5.2, burst_time; libwebrtc kTimestampGroupLength
_BURST_GAP_US = 5_000
_LONGEST_BURST_US = 100_000
_CLOCK_JUMP_US = 3_000_000
_REORDERED = 3  # reordered groups in a row that force a reset


@record
class Group:
    """Packets sent close together."""

    first_sent_us: int = 0
    sent_us: int = 0
    first_arrived_us: int = 0
    complete_us: int = 0
    known_us: int = 0


@record
class Groups:
    """Open group, the group before it, and the newest sample."""

    complete: int = 0  # 0: none yet, 1: a group is open, 2: the group before it is complete
    open: Group = Group()
    before: Group = Group()
    reordered: int = 0
    variation_us: int = 0  # of the newest sample, as the next two
    departures_us: int = 0
    at_us: int = 0


@kernel
def clear_groups(groups):
    """Remove all groups."""
    groups.complete = groups.reordered = 0


@kernel
def add(groups, variant, prefilter, sent_us, arrived_us, known_us):
    """Add one arrived packet of a report; return True if it gives a new sample, in `variation_us`, `departures_us` and `at_us`.

    `variant`: WEBRTC or DRAFT. `prefilter`, bool, merges bursts. Instants are int64: `known_us` is the arrival of the report at the sender.
    """
    if variant == WEBRTC:
        return add_webrtc(groups, prefilter, sent_us, arrived_us, known_us)
    return add_draft(groups, prefilter, sent_us, arrived_us, known_us)


@kernel
def add_webrtc(groups, prefilter, sent_us, arrived_us, known_us):
    """Add one arrived packet as in libwebrtc, see `add`; one sent before the open group is ignored.

    A jump of the receiver's clock shows in the difference of `arrived_us` and `known_us`. `prefilter`: merge bursts.
    """
    group = groups.open
    if groups.complete == 0:
        _open(groups, sent_us, arrived_us, known_us)
        return False
    # A packet of an older group arrived late: its group is closed.
    if sent_us < group.first_sent_us:
        return False
    gap_us = arrived_us - group.complete_us
    burst = prefilter and (
        sent_us == group.sent_us
        or (gap_us < sent_us - group.sent_us and gap_us <= _BURST_GAP_US and arrived_us - group.first_arrived_us < _LONGEST_BURST_US)
    )
    if burst or sent_us - group.first_sent_us <= GROUP_US:
        _join(group, sent_us, arrived_us, known_us)
        return False
    sampled = groups.complete == 2
    if sampled:
        arrivals_us = group.complete_us - groups.before.complete_us
        # Far more time passed on the receiver's clock than at the sender: the clock was set, and no difference across it means anything.
        if arrivals_us - (group.known_us - groups.before.known_us) >= _CLOCK_JUMP_US:
            clear_groups(groups)
            return False
        if arrivals_us < 0:
            groups.reordered += 1
            # The open group stays, and would drop every further sample too: start anew.
            if groups.reordered >= _REORDERED:
                clear_groups(groups)
            return False
        groups.reordered = 0
        _sample(groups, 1000 * whole_ms(arrived_us))
    groups.before, groups.complete = groups.open, 2
    _open(groups, sent_us, arrived_us, known_us)
    return sampled


@kernel
def add_draft(groups, prefilter, sent_us, arrived_us, known_us):
    """Add one arrived packet as in the draft, see `add`; `prefilter`: merge bursts; `known_us` is stored only.

    A packet that was not sent after the open group began, or that arrived before the newest of the group, is ignored.
    """
    group = groups.open
    if groups.complete == 0:
        _open(groups, sent_us, arrived_us, known_us)
        return False
    since_us, gap_us = sent_us - group.first_sent_us, arrived_us - group.complete_us
    if gap_us < 0 or since_us <= 0:
        return False
    if since_us <= GROUP_US or (prefilter and gap_us <= _BURST_GAP_US and gap_us < since_us):
        _join(group, sent_us, arrived_us, known_us)
        return False
    sampled = groups.complete == 2
    if sampled:
        _sample(groups, arrived_us)
    groups.before, groups.complete = groups.open, 2
    _open(groups, sent_us, arrived_us, known_us)
    return sampled


@kernel
def _open(groups, sent_us, arrived_us, known_us):
    group = groups.open
    group.first_sent_us = group.sent_us = sent_us
    group.first_arrived_us = group.complete_us = arrived_us
    group.known_us = known_us
    groups.complete = max(groups.complete, 1)


@kernel
def _join(group, sent_us, arrived_us, known_us):
    group.sent_us = max(group.sent_us, sent_us)
    group.complete_us, group.known_us = arrived_us, known_us


@kernel
def _sample(groups, at_us):
    groups.departures_us = groups.open.sent_us - groups.before.sent_us
    groups.variation_us = groups.open.complete_us - groups.before.complete_us - groups.departures_us
    groups.at_us = at_us


@kernel
def whole_ms(at_us):
    """Return a time rounded to whole ms, halves up."""
    return (at_us + 500) // 1000
