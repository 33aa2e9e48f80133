"""Slow twin of a call behind an uplink: events in order of time, exact fractions in the bottleneck, lists for every queue.

The receiver, the commands and the player are those of the twin of a call. Rules are called from Python one packet at a time, and the source
gives the sizes of video frames; other tests cover both.
"""

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np

from twins import session
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Discard, Sbpn
from vcgym.baselines.order.scheduler import REJECT, choose, choose_victim
from vcgym.baselines.records import MEDIA, NOT_ARRIVED, PROBE, PacketFeedback, Record
from vcgym.baselines.rule import NEVER_US, buffer_type, report_every_us, wake_us
from vcgym.envs.call.sender.uplink import AUDIO_PER_SLOT
from vcgym.network.bottleneck.impairments import is_lost
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO, SendQueue, put
from vcgym.network.bottleneck.sources import VideoSource, describe_video, frame_bytes, packets_of, part_bytes, start_source
from vcgym.network.kernels import rng
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import LOST
from vcgym.network.playout.quality import LOSS_PRICE
from vcgym.network.playout.receiver import WATERMARK

SLOT = 10_000
ORDERS = (Fifo(), Sbpn(), Sbpn(discard=Discard.WHEN_FULL))


class OneWorld:
    """A scenario of the uplink that has one world, among some traces."""

    name = "one"

    def __init__(self, link, *traces):
        self.link, self.traces, self.series, self.kinds = link, traces or (link.trace,), (), (link.name,)
        self.flows, self.calls = 2, 0

    def draw(self, split, seed, kind=None):
        return self.link


class Bottleneck:
    """Drop-tail, first in, first out, in exact fractions of a microsecond."""

    def __init__(self, link):
        self.link, self.free, self.inside = link, Fraction(0), []
        self.turn = link.trace.length_us

    def offer(self, now_us, size):
        self.inside = [(out_us, of) for out_us, of in self.inside if out_us > now_us]
        most = math.inf if self.link.queue_bytes is None else self.link.queue_bytes
        if len(self.inside) >= self.link.queue_packets or sum(of for _, of in self.inside) + size > most:
            return None
        at, bits = max(self.free, Fraction(now_us)), Fraction(size * 8 * 10**6)
        while True:
            rate, ends = self._rate(at)
            if bits <= (ends - at) * rate:
                self.free = at + bits / rate
                self.inside.append((math.ceil(self.free), size))
                return math.ceil(self.free)
            bits -= (ends - at) * rate
            at = Fraction(ends)

    def _rate(self, at):
        turns = int(at // self.turn) * self.turn
        times, rates = self.link.trace.times_us.tolist(), self.link.trace.rates_bps.tolist()
        place = max(i for i, since in enumerate(times) if since + turns <= at)
        return rates[place], turns + (times[place + 1] if place + 1 < len(times) else self.turn)


class Sender:
    """Sources, queue, pacer and rules of one sender; packets sent are lists of what is known of each."""

    def __init__(self, link, rate, order, pacing, ends_us, backward_us, report_loss):
        self.link, self.rate, self.order, self.pacing, self.ends_us = link, rate, order, pacing, ends_us
        self.backward_us, self.report_loss = backward_us, report_loss
        self.target, self.minimum, self.maximum = (1000.0 * kbps for kbps in link.rates_kbps)
        self.bottleneck, self.queue, self.sent = Bottleneck(link), [], []
        self.audio = self.frame = self.reports = self.reported = self.chance_us = 0
        self.report_us, self.rtt = round(link.report_every_ms * 1000), 0.0
        self.mean = AUDIO_PER_SLOT.size_bytes if link.video is None else min(link.video.packet_bytes, 519)
        self.created, self.rejected, self.discarded = [0, 0], [0, 0], [0, 0]
        self.source = None
        if link.video is not None:
            self.source = records(VideoSource, 1)
            self.source[0] = describe_video(link.video)
            start_source(self.source[0], self.target)

    def next_us(self):
        """Return the time of the next own event: a report, a wake-up of a rule, a capture, a transmission opportunity."""
        audio_us, frame_us = self.audio * SLOT, self.frame * int(self.source[0].frame_us) if self.source is not None else NEVER_US
        wakes_us = NEVER_US if self.rate is None else int(wake_us(self.rate.params, self.rate.state, 0))
        return [
            (self.report_us + self.backward_us, 0, self.report),
            (wakes_us, 1, self.ask),
            (min(at_us if at_us < self.ends_us else NEVER_US for at_us in (audio_us, frame_us)), 2, self.capture),
            (self.chance_us if self.queue else NEVER_US, 3, self.send),
        ]

    def set_target(self, bps):
        self.target = min(max(float(bps), self.minimum), self.maximum)

    def ask(self, now_us):
        self.set_target(self.rate.decide(now_us))

    def report(self, now_us):
        """Report all packets up to the newest arrived one; those that have not arrived are lost."""
        until_us, number = self.report_us, self.reports
        every_us = round(self.link.report_every_ms * 1000)
        self.reports += 1
        self.report_us += every_us if self.rate is None else int(report_every_us(self.rate.params, self.rate.state, 0, every_us))
        key = np.uint64(rng.stream_key(np.uint64(self.link.seed), 0, rng.FEEDBACK))
        if self.report_loss and rng.uniform(key, number) < self.report_loss:
            return
        there = [i for i, packet in enumerate(self.sent) if packet["arrived_us"] is not None and packet["arrived_us"] <= until_us]
        if not there or there[-1] < self.reported:
            return
        trips = []
        for i in range(self.reported, there[-1] + 1):
            packet = self.sent[i]
            arrived_us = packet["arrived_us"] if i in there else NOT_ARRIVED
            if i in there:
                trips.append(now_us - packet["sent_us"])
            if self.rate is not None:
                self.rate.learn(PacketFeedback(i, packet["size"], packet["sent_us"], arrived_us, now_us))
        self.reported = there[-1] + 1
        self.rtt = float(min(trips)) if self.rtt == 0.0 else 0.9 * self.rtt + 0.1 * min(trips)
        if self.rate is not None:
            self.ask(now_us)

    def capture(self, now_us):
        audio = self.audio * SLOT <= now_us and self.audio * SLOT < self.ends_us
        video = self.source is not None and self.frame * int(self.source[0].frame_us) <= now_us
        coin = np.uint64(rng.stream_key(np.uint64(self.link.seed), 1, rng.SOURCE))
        kinds = [AUDIO] * audio
        if video:
            kinds.insert(0 if rng.uniform(coin, self.frame) < 0.5 else len(kinds), VIDEO)
        for kind in kinds:
            if kind == AUDIO:
                self.enqueue(now_us, AUDIO_PER_SLOT.size_bytes, AUDIO, self.audio)
                self.audio += 1
            else:
                encoder_bps = self.target - AUDIO_PER_SLOT.size_bytes * 8e6 / SLOT
                sizes = np.ones(1, np.int64)
                size = int(frame_bytes(self.source[0], sizes, np.uint64(self.link.seed), self.frame, now_us, encoder_bps))
                parts = int(packets_of(self.source[0], size))
                for i in range(parts):
                    self.enqueue(now_us, int(part_bytes(size, parts, i)), VIDEO, self.frame)
                self.frame += 1

    def enqueue(self, now_us, size, kind, number):
        expires_us = now_us + round(self.link.expiry_ms * 1000)
        self.created[kind] += 1
        if len(self.queue) >= self.link.send_queue:
            place = choose_victim(self.order, self._as_record(), kind, expires_us, now_us, int(self.rtt))
            if place == REJECT:
                self.rejected[kind] += 1
                return
            self.rejected[self.queue.pop(place)["kind"]] += 1
        self.queue.append({"created_us": now_us, "expires_us": expires_us, "size": size, "kind": kind, "number": number})

    def _as_record(self):
        queue = records(SendQueue, 1)
        queue.limit = self.link.send_queue
        for packet in self.queue:
            put(queue[0], packet["created_us"], packet["expires_us"], packet["size"], packet["kind"], packet["number"])
        return queue[0]

    def send(self, now_us):
        """Return the departure time of the packet from the bottleneck, if it departs."""
        chosen = int(choose(self.order, self._as_record(), now_us, int(self.rtt)))
        if chosen < 0:
            self.discarded[self.queue.pop(-1 - chosen)["kind"]] += 1
            return None
        packet = self.queue.pop(chosen)
        lost = is_lost(np.uint64(self.link.seed), 0, len(self.sent), self.link.loss)
        out_us = None if lost else self.bottleneck.offer(now_us, packet["size"])
        self.sent.append(packet | {"sent_us": now_us, "out_us": out_us, "arrived_us": None})
        self.mean = 0.9 * self.mean + (1.0 - 0.9) * packet["size"]
        spaced = packet["size"] * 8e6 / (self.pacing * self.target) if self.pacing else self.mean * 8e6 / self.target
        self.chance_us = now_us + int(spaced)
        return out_us


def cross_traffic(link, until_us):
    """Packets of even, unbroken UDP flows: (at_us, size) in order, of equal ones the flow named first."""
    packets = []
    for number, flow in enumerate(link.flows):
        due = float(round(flow.starts_s * 1e6))
        while due < until_us:
            packets.append((int(due), number, flow.size_bytes))
            due += flow.size_bytes * 8e6 / flow.rate_bps
    return [(at_us, size) for at_us, _, size in sorted(packets)]


def twin(delays, keeps_order, packets, history, seed, probes, location, feedback_loss, link, pacing, levers, plan=None, interval=10):
    """One call, event by event.

    Args:
        delays: (paths, slots), delay of a packet that enters a path in a slot.
        keeps_order: per path.
        packets: length of the call.
        history: (paths, 3).
        seed: seed of the world of paths.
        probes: slots between probes of a path; 0 for none.
        location: 0 (sender) to 1 (receiver).
        feedback_loss: share of media records lost on the way to the location, and of reports lost on the way to the sender.
        link: world of the uplink.
        pacing: pacing of the sender.
        levers: rules of path, level, rate and order; None for a control set by `plan`.
        plan: commands of the four controls for each decision.
        interval: slots between decisions.
    """
    route, level, rate, order = levers
    control_us = round(history[0, 1] * 1000.0)
    to_sender_us = round(control_us * location)
    feedback_us = control_us - to_sender_us
    to_receiver = session.Commands(80_000, feedback_us)
    paths, rates, orders = (session.Commands(first, to_sender_us) for first in (0, int(1000.0 * link.rates_kbps[0]), 0))
    report_us = max(-(-control_us // SLOT), 1) * SLOT
    sender = Sender(link, rate, ORDERS[0] if order is None else order, pacing, packets * SLOT, report_us, feedback_loss)
    receiver = session.Receiver(WATERMARK if level is None else buffer_type(level.params))
    wire, feed, used, arrivals, order_sent = [], [], {}, {}, 0
    coming_out, last_us, flows = [], {}, cross_traffic(link, 2 * packets * SLOT + 10**7)
    log = {"path": [-1] * packets, "arrived_us": [-1] * packets, "probes_sent": 0}
    taken, losses = [], np.uint64(rng.stream_key(np.uint64(seed), 0, rng.FEEDBACK))
    last_media_us, slot = 0, 0
    while True:
        now_us = slot * SLOT
        while wire and wire[0][0] <= now_us:
            at_us, _, kind, packet, path, out_us = heapq.heappop(wire)
            if kind == PROBE:
                feed.append(Record(PROBE, packet, path, packet * SLOT, at_us, at_us + feedback_us, receiver.level_us, 0))
                continue
            late = receiver.is_late(packet)
            seen = Record(MEDIA, packet, path, packet * SLOT, at_us, at_us, receiver.level_us, int(late))
            if level is None:
                receiver.level_us = to_receiver.at(at_us)
            else:
                level.learn(seen)
                receiver.level_us = level.decide(slot * SLOT)
            receiver.accept(packet, at_us)
            arrivals[packet] = (at_us, late, receiver.level_us, len(arrivals))
            last_media_us = at_us
            if feedback_loss == 0.0 or rng.uniform(losses, packet) >= feedback_loss:
                feed.append(seen._replace(sent_us=out_us, known_us=at_us + feedback_us))
        drained = not sender.queue and all(p["out_us"] is None or (p["arrived_us"] or 0) <= now_us for p in sender.sent) and not coming_out
        if slot >= packets and drained:
            if not wire:
                break
            slot += 1
            continue
        if slot < packets:
            if plan is not None and slot % interval == 0:
                decided = plan[slot // interval]
                for commands, rule, value in zip((to_receiver, rates, orders), (level, rate, order), decided[1:], strict=True):
                    if rule is None:
                        commands.send(value, now_us)
                if route is None:
                    paths.send(decided[0], now_us)
            if route is not None:
                while feed and feed[0].known_us <= now_us:
                    route.learn(feed.pop(0))
                paths.send(route.decide(slot * SLOT), now_us)
            path = paths.at(now_us)
            used[path] = slot
            for idle in range(len(delays)) if probes else ():
                if slot % probes == idle * probes // len(delays) and slot - used.get(idle, -(1 << 40)) >= probes:
                    log["probes_sent"] += 1
                    if (delay := int(delays[idle, slot])) != LOST:
                        heapq.heappush(wire, (now_us + delay, order_sent, PROBE, slot, idle, now_us))
                        order_sent += 1
        if rate is None:
            sender.set_target(rates.at(now_us))
        if order is None:
            sender.order = ORDERS[orders.at(now_us)]
        clock_us = now_us
        while True:
            at_us, _, happens = min(sender.next_us(), key=lambda event: (max(event[0], clock_us), event[1]))
            at_us = max(at_us, clock_us)
            out_us = coming_out[0]["out_us"] if coming_out else NEVER_US
            flow_us = flows[0][0] if flows else NEVER_US
            if min(at_us, out_us, flow_us) >= now_us + SLOT:
                break
            if flow_us <= min(at_us, out_us):
                sender.bottleneck.offer(*flows.pop(0))
            elif out_us <= at_us:
                packet = coming_out.pop(0)
                path = paths.at(out_us)
                if (delay := int(delays[path, out_us // SLOT])) != LOST:
                    arrived_us = out_us + delay
                    if keeps_order:
                        arrived_us = last_us[path] = max(arrived_us, last_us.get(path, 0))
                    packet["arrived_us"] = arrived_us
                if packet["kind"] == AUDIO:
                    number = packet["number"]
                    taken.append(path)
                    log["path"][number] = path
                    if delay != LOST:
                        log["arrived_us"][number] = packet["arrived_us"]
                        heapq.heappush(wire, (packet["arrived_us"], order_sent, MEDIA, number, path, out_us))
                        order_sent += 1
            else:
                clock_us = at_us
                if happens(at_us) is not None:
                    coming_out.append(sender.sent[-1])
        slot += 1
    left = receiver.left()
    log["flushed"] = [packet in left for packet in range(packets)]
    log["emitted_us"] = [receiver.emitted.get(p, last_media_us if p in left else -1) for p in range(packets)]
    log["plans_sent"] = len(paths.sent) - 1
    log["path_changes"] = sum(a != b for a, b in itertools.pairwise(taken))
    paid = [at_us - packet * SLOT for packet, at_us in receiver.emitted.items()]
    log["return_event"] = -sum(paid) / 100_000.0 - LOSS_PRICE * (packets - len(paid) - len(left))
    return log | session.heard(packets, arrivals), sender
