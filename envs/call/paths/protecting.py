"""The protection of a call: what its rule adds to each packet within a budget of bytes, and what the receiver repairs with it.

The stage stands where packets leave at once (`NoSender`). Copies, and packets that go again later, are nodes of kind COPY; earlier frames
are in the packet that carries them; a repair packet is a node of kind REPAIR with the number of the last packet that it covers.

The receiver takes an arriving packet first, then the earlier frames in it from the newest to the oldest, then the coarse ones that the
codec has added, then what its repair packets give (libwebrtc's NetEQ, too, takes the frame of a packet before the earlier ones). A repaired
packet is to the playout rule and the queue an arrival at this instant. It is not reported: reports are of what the network did, before
repair. Named choices: of overlapping sets of repair packets a packet belongs to the last; what a repair gives does not start further
repairs before the next arrival; a coarse frame that has come is not replaced by a whole one.

An agent that sets the protection commands one of several rules at the sender (`vcgym.envs.call.paths.effects`), which learn there. How much
its bucket holds leaves the sender at each decision.

Every byte beyond the plain packets is paid from a bucket: with each packet it gets the budget's share of a plain one, and it holds at most
that of 60 s. What it cannot pay is left out: earlier frames from the oldest on, then all coarse ones, then the whole packet.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.from_agent import REMOTE, origin_of, select
from vcgym.baselines.protection.protect import DISTANCES, NONE, in_band, protect
from vcgym.baselines.records import COPY, PROBE, REPAIR, Record, read_record
from vcgym.baselines.rule import learns, update
from vcgym.envs.call.paths.feed import KNOWN, RECORDS, Commands, command, in_force
from vcgym.envs.call.paths.routing import NoSender, delay_on, send
from vcgym.envs.call.paths.state import shift_of
from vcgym.envs.call.stages import (
    asks_agent,
    capture,
    is_draining,
    leave,
    next_repaired,
    pass_on,
    reads_feed,
    reveal,
    sent_onto_path_us,
)
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.in_flight import SLOTS, age_of, kind_of, number_of, push
from vcgym.network.playout.packet_size import AGAIN, HEADERS, earlier_bytes, plain_bytes, repair_bytes
from vcgym.network.playout.receiver import has_arrived

_MASK = SLOTS - 1
_PARTS = 1000  # of a byte, in the bucket
BUCKET_SLOTS = 6000


@record
class ProtectionCounts:
    """Counters of protection."""

    lost: int = 0  # packets whose own transmission is lost
    extra_bytes: int = 0  # beyond the plain packets, without probes
    left_out: int = 0  # frames and packets that the budget did not allow
    coarse: int = 0  # packets of which a coarse frame has come and nothing better before


@record
class ProtectedCall:
    """State of protection in a call."""

    counts: ProtectionCounts
    read: int = 0  # records of the feed that the rule has read
    frame: int = 0  # bytes of a frame
    income: int = 0  # of the bucket, parts of a byte per packet
    most: int = 0  # that the bucket holds
    bucket: int = 0
    protection: Commands  # options that an agent has chosen
    answer_protection: int = 0  # the last one
    tokens: Commands  # what the bucket held at its decisions, on the way to it
    is_shared: int = 0  # 1: an agent reads the feed too
    earlier: NDArray[np.int64] = np.zeros(SLOTS, np.int64)  # by packet: set of the packets whose frames it carries
    coarse: NDArray[np.int64] = np.zeros(SLOTS, np.int64)  # the same of coarse frames
    size_bytes: NDArray[np.int32] = np.zeros(SLOTS, np.int32)
    group: NDArray[np.int64] = np.zeros(SLOTS, np.int64)  # last packet of the set of repair packets that covers it; NONE
    covers: NDArray[np.int16] = np.zeros(SLOTS, np.int16)  # by last packet of a set: packets that it covers
    repairs: NDArray[np.int16] = np.zeros(SLOTS, np.int16)  # and repair packets of it that have arrived


_NEW_CALL = records(ProtectedCall, 1)


class Protecting(NamedTuple):
    """Sender stage of calls with protection; first axis: session."""

    rule: Any  # parameters of the rule
    state: Any  # its state
    rows: NDArray[np.void]  # (sessions,) of ProtectedCall


for stage in (reveal, leave, is_draining):
    stage.register(Protecting)(stage.versions[NoSender])


def start_protection(rows: NDArray[np.void], s: int, budget: float, to_sender_us: int, is_shared: bool, packet_us: int) -> None:
    """Start a call in row `s`.

    Args:
        rows: (sessions,) of ProtectedCall.
        s: row.
        budget: share of the plain bytes that may go beyond them, at least 0.
        to_sender_us: travel time between an agent and the sender.
        is_shared: an agent reads the feed too.
        packet_us: packet interval.
    """
    rows[s] = _NEW_CALL[0]
    row, plain = rows[s], plain_bytes(packet_us)
    row["frame"], row["income"] = plain - HEADERS, round(_PARTS * plain * budget)
    row["most"] = row["income"] * (BUCKET_SLOTS * SLOT_US // packet_us)
    row["protection"]["delay_us"] = row["tokens"]["delay_us"] = to_sender_us
    row["is_shared"] = is_shared


@asks_agent.register(Protecting)
def _asks_agent(stage):
    return origin_of(stage.rule) == REMOTE


@pass_on.register(Protecting)
def _pass_on(sender, s, now_us):
    row = sender.rows[s]
    return origin_of(sender.rule) != REMOTE or command(row.protection, row.answer_protection, now_us) >= 0


@reads_feed.register(Protecting)
def _reads_feed(stage):
    return _reads_records(stage.rule)


@kernel
def _reads_records(rule):
    return learns(rule) or origin_of(rule) == REMOTE


@sent_onto_path_us.register(Protecting)
def _sent_onto_path_us(sender, call, s, record):
    return record.sent_us + age_of(call.in_flight, call.waiting_node) * SLOT_US


@kernel
def _learn(sender, call, s, now_us):
    """Give the rule the records that have reached the sender; return False if some have been overwritten."""
    row, feed = sender.rows[s], call.feed
    if feed.written - row.read > RECORDS:
        return False
    onward_us = call.to_sender.delay_us
    while row.read < feed.written and feed.rows[row.read & (RECORDS - 1), KNOWN] + onward_us <= now_us:
        seen = read_record(feed.rows, row.read & (RECORDS - 1))
        known_us = seen.known_us + onward_us
        record = Record(seen.kind, seen.packet, seen.path, seen.sent_us, seen.arrived_us, known_us, seen.lag_us, seen.late)
        update(sender.rule, sender.state, s, record)
        row.read += 1
    # Where neither a router nor an agent reads the feed, it is read here alone.
    if row.is_shared == 0:
        feed.read = max(feed.read, row.read)
    return True


@kernel
def _obey(sender, call, s, now_us):
    """Let the option in force decide, and tell the agent at each decision what the bucket holds; return False if a ring is full."""
    row = sender.rows[s]
    select(sender.rule, sender.state, s, in_force(row.protection, now_us))
    return call.slot % call.interval != 0 or command(row.tokens, row.bucket, now_us) >= 0


@kernel
def _pay(row, size):
    """Take bytes from the bucket; return False, and take none, if it has too few."""
    if row.bucket < _PARTS * size:
        row.counts.left_out += 1
        return False
    row.bucket -= _PARTS * size
    row.counts.extra_bytes += size
    return True


@kernel
def _carry(row, packet, wanted, coarse):
    """Put earlier frames into a packet, from the newest to the oldest, then what the codec adds."""
    carried, frames, size = 0, 0, HEADERS + row.frame
    for distance in range(1, min(DISTANCES, packet) + 1):
        if (wanted >> distance) & 1:
            more = earlier_bytes(frames, row.frame)
            if not _pay(row, more):
                break
            carried |= 1 << distance
            frames += 1
            size += more
    row.earlier[packet & _MASK] = carried
    row.coarse[packet & _MASK] = 0
    if coarse.frames != 0 and _pay(row, coarse.size):
        row.coarse[packet & _MASK] = coarse.frames
        size += coarse.size
    row.size_bytes[packet & _MASK] = size


@kernel
def _send_again(calls, row, s, wanted, path):
    """Send a set of packets on a path, from the newest to the oldest; return False if a ring is full."""
    call = calls.rows[s]
    shift = shift_of(calls.tables.frames, call)
    newest = call.slot >> shift
    delay = delay_on(calls, s, path)
    for age in range(min(DISTANCES, newest) + 1):
        if (wanted >> age) & 1:
            size = row.size_bytes[(newest - age) & _MASK] + (AGAIN if age > 0 else 0)
            if not _pay(row, size):
                return True
            calls.tables.last_used[s, path] = call.slot
            if delay != LOST and not push(call.in_flight, (newest - age) << shift, COPY, path, delay, age << shift):
                return False
    return True


@kernel
def _send_repair(calls, row, s, wanted, path):
    """Send a repair packet; return False if a ring is full. A set is named by its last packet and keeps the size that it had first."""
    call = calls.rows[s]
    shift = shift_of(calls.tables.frames, call)
    last = (call.slot >> shift) - wanted.behind
    covered = np.int64(row.covers[last & _MASK])
    if covered == 0:
        covered = min(wanted.covers, last + 1)
    longest = 0
    for packet in range(last - covered + 1, last + 1):
        longest = max(longest, row.size_bytes[packet & _MASK])
    if not _pay(row, repair_bytes(covered, longest)):
        return True
    row.covers[last & _MASK] = covered
    for packet in range(last - covered + 1, last + 1):
        row.group[packet & _MASK] = last
    delay = delay_on(calls, s, path)
    return delay == LOST or push(call.in_flight, last << shift, REPAIR, path, delay, wanted.behind << shift)


@capture.register(Protecting)
def _capture(sender, calls, s, path):
    call, row = calls.rows[s], sender.rows[s]
    packet, now_us = call.slot >> shift_of(calls.tables.frames, call), call.slot * SLOT_US
    if _reads_records(sender.rule) and not _learn(sender, call, s, now_us):
        return False
    row.bucket = min(row.bucket + row.income, row.most)
    if origin_of(sender.rule) == REMOTE and not _obey(sender, call, s, now_us):
        return False
    row.group[packet & _MASK] = NONE
    row.covers[packet & _MASK] = 0
    row.repairs[packet & _MASK] = 0
    wanted = protect(sender.rule, sender.state, s, now_us, path)
    _carry(row, packet, wanted.earlier, in_band(sender.rule, sender.state, s, now_us))
    delay = delay_on(calls, s, path)
    row.counts.lost += 1 if delay == LOST else 0
    fits = send(calls, s, call.slot, path, now_us + delay if delay != LOST else np.int64(LOST))
    for further in (wanted.path, wanted.second):
        if further != NONE:
            fits = _send_again(calls, row, s, wanted.again, further) and fits
    if wanted.covers > 0 and wanted.behind <= packet:
        fits = _send_repair(calls, row, s, wanted, path) and fits
    return fits


@kernel
def _is_missing(call, packet):
    return (call.slot >> call.packet_shift) - packet < SLOTS and not has_arrived(call.receiver, packet)


@kernel
def newest_missing(call, number, carried):
    """Return the newest missing packet of a set of frames that packet `number` carries, else NONE."""
    for distance in range(1, min(DISTANCES, number) + 1):
        if carried >> distance == 0:
            break
        if (carried >> distance) & 1 and _is_missing(call, number - distance):
            return number - distance
    return NONE


@kernel
def _decoded(row, call, last):
    """Return the oldest missing packet of a set if as many packets have arrived as it covers, else NONE."""
    missing, first, covered = 0, NONE, np.int64(row.covers[last & _MASK])
    for packet in range(last, last - covered, -1):
        if _is_missing(call, packet):
            missing += 1
            first = packet
    return first if missing <= row.repairs[last & _MASK] else NONE


@next_repaired.register(Protecting)
def _next_repaired(sender, call, s, node, so_far):
    row, kind = sender.rows[s], kind_of(call.in_flight, node)
    number = number_of(call.in_flight, node, call.slot) >> call.packet_shift
    if kind == PROBE or (call.slot >> call.packet_shift) - number >= SLOTS:
        return NONE
    if kind == REPAIR:
        row.repairs[number & _MASK] += 1 if so_far == 0 else 0
        return _decoded(row, call, number)
    earlier = newest_missing(call, number, row.earlier[number & _MASK])
    if earlier == NONE:
        earlier = newest_missing(call, number, row.coarse[number & _MASK])
        row.counts.coarse += 1 if earlier != NONE else 0
    if earlier != NONE:
        return earlier
    last = row.group[number & _MASK]
    return _decoded(row, call, last) if last != NONE else NONE
