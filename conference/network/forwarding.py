"""Packets of a conference in flight: sources send, links carry, parties forward along trees, receivers measure.

A source spreads the copies of a packet over the time until its next packet; a forwarding party sends all copies at once, and starts with
another receiver from packet to packet. A copy waits behind the copies sent before it, which is not the load of the link: only the first
copy is measured for queueing.

A packet contains the number of its session's plan and a tree of that plan. So all copies follow one tree even if the plan changes in the
meantime, and no party gets a packet twice. Only the last PLANS plans are kept: packets of older plans are not forwarded. With coded local
recovery a coded packet follows some of the packets on an overlay link (`vcgym.conference.network.repairs`).
"""

import numpy as np

from vcgym.conference.network.cross_traffic import play_flow
from vcgym.conference.network.links import CODED, CROSS, MEDIA, MESSAGE, earliest, offer, set_next, take
from vcgym.conference.network.network import CODED_BYTES, MESSAGES, PACKET_BYTES, PLANS
from vcgym.conference.network.repairs import cover, keep, repair
from vcgym.conference.network.topology import NO_LINK
from vcgym.network.kernels.jit import kernel


@kernel
def advance(net, scratch, until_us):
    """Play all events up to and including `until_us`; `scratch` is one packet, (1,) of PACKET."""
    links, parties = net.links.size, net.sessions.size
    while True:
        stream = earliest(net.clock)
        now_us = net.clock.next_us[stream]
        if now_us > until_us:
            return
        if stream < links:
            _arrive(net, scratch, stream, now_us)
        elif stream < links + parties:
            _emit(net, scratch, stream - links, now_us)
        else:
            play_flow(net, scratch, stream - links - parties, now_us)


@kernel
def send_message(net, scratch, kind, sender, receiver, size_bytes, now_us):
    """Send `net.messages[kind, sender, receiver, written % MESSAGES]`, filled by the caller, over the overlay link.

    Args:
        net: Network, updated.
        scratch: (1,) of PACKET, overwritten.
        kind: int64, kind of the message, 0 to KINDS - 1.
        sender: int64, party at the tail of the link.
        receiver: int64, party at its head, another one.
        size_bytes: int64, at least 1.
        now_us: int64, send time; must not decrease from call to call.
    """
    number = net.written[kind, sender, receiver]
    net.written[kind, sender, receiver] = number + 1
    packet = scratch[0]
    packet.kind, packet.size_bytes, packet.number, packet.created_us, packet.session = MESSAGE + kind, size_bytes, number, now_us, sender
    packet.copy_index = 0
    _enter(net, packet, sender, receiver, now_us)


@kernel
def _emit(net, scratch, m, now_us):
    """Send the next copy of a packet of session `m`."""
    session, packet = net.sessions[m], scratch[0]
    if session.left == 0:
        _begin_packet(net, session, m, now_us)
    parents = net.trees[m, session.tree_plan % PLANS, session.tree]
    session.head += 1
    while parents[session.head] != m or session.head == m:
        session.head += 1
    packet.kind, packet.size_bytes, packet.number, packet.created_us = MEDIA, PACKET_BYTES, session.number - 1, session.created_us
    packet.session, packet.tree, packet.plan, packet.copy_index = m, session.tree, session.tree_plan, 0
    _pass_on(net, packet, m, session.head, now_us)
    session.due_us += PACKET_BYTES * 8e3 / (session.rate_kbps * session.children)
    session.left -= 1
    set_next(net.clock, net.links.size + m, np.int64(session.due_us))


@kernel
def _begin_packet(net, session, m, now_us):
    """Choose the tree of the next packet."""
    slot, best = session.plan % PLANS, 0
    # Each tree earns its share of every packet, and the one that is owed most pays for it: shares hold over a few packets, without draws.
    for tree in range(session.trees):
        net.credits[m, tree] += net.weights[m, slot, tree]
        if net.credits[m, tree] > net.credits[m, best]:
            best = tree
    net.credits[m, best] -= 1.0
    session.tree, session.tree_plan, session.created_us, session.head = best, session.plan, now_us, -1
    session.number += 1
    session.children = 0
    for head in range(net.sessions.size):
        session.children += net.trees[m, slot, best, head] == m and head != m
    session.left = session.children


@kernel
def _enter(net, packet, tail, head, now_us):
    """Send a copy of `packet` over an overlay link."""
    one = net.measured[tail, head]
    packet.tail, packet.head, packet.hop, packet.sent_us, packet.sequence = tail, head, 0, now_us, one.sent
    one.sent += 1
    offer(net.links, net.rings, net.clock, net.paths[tail, head, 0], now_us, packet)


@kernel
def _pass_on(net, packet, tail, head, now_us):
    """Send a copy of a packet of media over an overlay link, and a coded packet behind it if one is due."""
    _enter(net, packet, tail, head, now_us)
    if net.repairs.share.size == 0:
        return
    coded = cover(net.repairs, packet, packet.plan % PLANS)
    if coded >= 0:
        # `packet` is the caller's scratch record, from which further copies are sent: it must be the packet of media again afterwards. A
        # coded packet is copy 1, since it waits behind its own media and would measure that as queueing.
        number, copy = packet.number, packet.copy_index
        packet.kind, packet.size_bytes, packet.number, packet.copy_index = CODED, CODED_BYTES, coded, 1
        _enter(net, packet, tail, head, now_us)
        packet.kind, packet.size_bytes, packet.number, packet.copy_index = MEDIA, PACKET_BYTES, number, copy


@kernel
def _forward(net, packet, party, now_us):
    m = packet.session
    parents = net.trees[m, packet.plan % PLANS, packet.tree]
    packet.copy_index = 0
    for i in range(parents.size):
        # Copies wait behind each other, so the receiver that is served first changes from packet to packet.
        head = (packet.number + i) % parents.size
        if parents[head] == party and head != m:
            _pass_on(net, packet, party, head, now_us)
            packet.copy_index += 1


@kernel
def _arrive(net, scratch, number, now_us):
    scratch[0] = take(net.links, net.rings, net.clock, number)
    packet = scratch[0]
    if packet.kind == CROSS:
        return
    hop = packet.hop + 1
    if hop < net.paths.shape[2] and net.paths[packet.tail, packet.head, hop] != NO_LINK:
        packet.hop = hop
        offer(net.links, net.rings, net.clock, net.paths[packet.tail, packet.head, hop], now_us, packet)
    elif net.present[packet.head]:
        _measure(net.measured[packet.tail, packet.head], packet, now_us)
        if packet.kind == CODED:
            if repair(net.repairs, packet):
                packet.kind, packet.size_bytes = MEDIA, PACKET_BYTES
                _hear(net, packet, now_us)
        elif packet.kind == MEDIA:
            _hear(net, packet, now_us)
        else:
            _read(net, packet, now_us)


@kernel
def _measure(one, packet, now_us):
    delay_us = now_us - packet.sent_us
    one.received += 1
    # A link is first in, first out: a gap in the sequence is a loss, never a packet that is still under way.
    one.lost += packet.sequence - one.expected
    one.expected = packet.sequence + 1
    one.delay_us += delay_us
    if packet.copy_index == 0:
        # Media and messages have minima of their own, because a larger packet takes longer to send on an empty link.
        size = int(packet.kind != MEDIA)
        one.min_us[size] = min(one.min_us[size], delay_us)
        one.sampled[size] += 1
        one.excess_us[size] += delay_us - one.min_us[size]


@kernel
def _hear(net, packet, now_us):
    m, party = packet.session, packet.head
    received, delay_us = net.received[m, party], now_us - packet.created_us
    received.packets += 1
    received.delay_us += delay_us
    received.late += delay_us > net.bound_us[0]
    if net.logged[0] < net.log.size:
        entry = net.log[net.logged[0]]
        entry.session, entry.receiver, entry.number, entry.tree = m, party, packet.number, packet.tree
        entry.created_us, entry.arrived_us = packet.created_us, now_us
        net.logged[0] += 1
    net.known_plans[party, m] = max(net.known_plans[party, m], packet.plan)
    if net.repairs.share.size > 0:
        keep(net.repairs, m, party, packet.number)
    # The trees of an older plan have been overwritten by those of a newer one.
    if packet.plan > net.sessions[m].plan - PLANS:
        _forward(net, packet, party, now_us)


@kernel
def _read(net, packet, now_us):
    kind, sender, receiver = packet.kind - MESSAGE, packet.tail, packet.head
    # The content of an older message has been overwritten by a newer one's.
    if packet.number >= net.written[kind, sender, receiver] - MESSAGES:
        for field in range(net.inbox.shape[3]):
            net.inbox[kind, receiver, sender, field] = net.messages[kind, sender, receiver, packet.number % MESSAGES, field]
        net.inbox_us[kind, receiver, sender] = now_us
