"""Several calls over one bottleneck, each on its own clock, event by event."""

import math
from fractions import Fraction

import numpy as np

from vcgym.baselines.records import PacketFeedback, RateLimits, SenderStatus
from vcgym.baselines.rule import allocate, decide, init, pacing, report_every_us, see_sender, update, wake_us, window_bytes
from vcgym.envs.call.sender.state import MEAN_BYTES
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.kernels import rng


def draw(seed, link, purpose, number):
    return rng.uniform(np.uint64(rng.stream_key(np.uint64(seed), link, purpose)), number)


class PlainCall:
    """A call first in, first out, on its own clock, with frames of a series."""

    def __init__(self, link, of, rule, usual, begins_us, seed):
        self.of, self.rule, self.pacing, self.begins_us, self.seed = of, rule, usual, begins_us, seed
        self.forward_us, self.backward_us = round(of.forward_ms * 1000), round(of.backward_ms * 1000)
        stops_s = min(getattr(of, "stops_s", math.inf), link.seconds)
        self.ends_us = round((stops_s - begins_us / 1e6) * 1e6)
        self.target, self.minimum, self.maximum = (1000.0 * rate for rate in of.rates_kbps)
        self.state = allocate(rule, 1, 1)
        init(
            rule,
            self.state,
            0,
            RateLimits(self.target, self.minimum, self.maximum),
            np.uint64(rng.stream_key(np.uint64(seed), 2, rng.POLICY)),
        )
        self.queue, self.limit = [], link.send_queue
        self.default_report_every_us = self.report_us = round(link.report_every_ms * 1000)
        self.sent, self.told, self.chance_us, self.mean = [], 0, 0, float(min(of.video.packet_bytes, MEAN_BYTES))
        self.frames = self.sounds = 0
        self.frame_us, self.sound_us = round(1e6 / of.video.frames_per_s), round(of.audio.interval_ms * 1000)
        self.now = self.captured = self.frame = 0
        self.pace, self.window = pacing(rule, self.state, 0, usual), window_bytes(rule, self.state, 0)

    def next_us(self):
        at = min(self.report_us + self.backward_us, wake_us(self.rule, self.state, 0), self.ends_us)
        at = min(at, self.sounds * self.sound_us, self.frames * self.frame_us)
        if self.queue and sum(packet[3] for packet in self.sent[self.told :]) + self.queue[0][1] <= self.window:
            at = min(at, self.chance_us)
        return max(at, self.now)

    def turn(self, carry):
        now = self.now = self.next_us()
        if now >= self.ends_us:
            self.ends_us = self.report_us = self.sounds = self.frames = self.now = math.inf
        elif self.report_us + self.backward_us <= now:
            if self.learn(now):
                self.ask(now)
        elif wake_us(self.rule, self.state, 0) <= now:
            self.ask(now)
        elif self.sounds * self.sound_us <= now or self.frames * self.frame_us <= now:
            self.capture(now)
        else:
            created, size, kind = self.queue.pop(0)
            out_us = carry(self.begins_us + now, size)
            self.sent.append((created, now, -1 if out_us is None else out_us - self.begins_us + self.forward_us, size, kind))
            self.mean = 0.9 * self.mean + (1.0 - 0.9) * size
            bits = self.mean * 8e6 / self.target if self.pace == 0 else size * 8e6 / (self.pace * self.target)
            self.chance_us = now + int(bits)

    def learn(self, now):
        collected_us = self.report_us
        self.report_us += report_every_us(self.rule, self.state, 0, self.default_report_every_us)
        heard = [i for i in range(self.told, len(self.sent)) if 0 <= self.sent[i][2] <= collected_us]
        if not heard:
            return False
        for i in range(self.told, heard[-1] + 1):
            _, sent_us, arrived_us, size, _ = self.sent[i]
            update(self.rule, self.state, 0, PacketFeedback(i, size, sent_us, arrived_us, now))
        self.told = heard[-1] + 1
        return True

    def ask(self, now):
        waiting, sent = sum(packet[1] for packet in self.queue), sum(packet[3] for packet in self.sent)
        see_sender(self.rule, self.state, 0, SenderStatus(waiting, self.captured, sent, self.frames, self.frame, self.frame_us))
        self.target = min(max(float(decide(self.rule, self.state, 0, now)), self.minimum), self.maximum)
        self.pace, self.window = pacing(self.rule, self.state, 0, self.pacing), window_bytes(self.rule, self.state, 0)

    def capture(self, now):
        sound, frame = self.sounds * self.sound_us <= now, self.frames * self.frame_us <= now
        new = []
        if sound:
            new.append([(now, self.of.audio.size_bytes, AUDIO)])
            self.sounds += 1
        if frame:
            size = int(self.of.video.sizes_bytes[self.frames % len(self.of.video.sizes_bytes)])
            packets = math.ceil(size / self.of.video.packet_bytes)
            parts = [size // packets + (i < size % packets) for i in range(packets)]
            first = draw(self.seed, 1, rng.SOURCE, self.frames) < 0.5
            new.insert(0 if first else len(new), [(now, part, VIDEO) for part in parts])
            self.frames, self.frame = self.frames + 1, size
        self.captured += sum(packet[1] for burst in new for packet in burst)
        self.queue = [*self.queue, *(packet for burst in new for packet in burst)][: self.limit]


class PlainQueue:
    """First in, first out, in fractions; a packet takes `us` of the server, and waits only if there is room for it."""

    def __init__(self, limit_bytes=math.inf, limit_packets=math.inf):
        self.limits, self.free_us, self.inside = (limit_bytes, limit_packets), Fraction(0), []

    def carry(self, now, size, us):
        self.inside = [packet for packet in self.inside if packet[0] > now]
        if sum(packet[1] for packet in self.inside) + size > self.limits[0] or len(self.inside) >= self.limits[1]:
            return None
        self.free_us = max(self.free_us, Fraction(now)) + us
        self.inside.append((math.ceil(self.free_us), size))
        return self.inside[-1][0]


def plain(link, rules, pacings, bps):
    """Logs of all calls, the first one first."""
    queue = PlainQueue(limit_packets=link.queue_packets)
    calls = [PlainCall(link, link, rules[0], pacings[0], 0, link.seed)]
    for f, of in enumerate(link.flows):
        seed = int(rng.stream_key(np.uint64(link.seed), f + 1, rng.OTHER_CALL))
        calls.append(PlainCall(link, of, rules[f + 1], pacings[f + 1], round(of.starts_s * 1e6), seed))
    order = [*range(1, len(calls)), 0]  # of those whose events are at the same instant
    while calls[0].ends_us < math.inf:
        which = min(order, key=lambda i: (calls[i].begins_us + calls[i].next_us(), order.index(i)))
        calls[which].turn(lambda now, size: queue.carry(now, size, Fraction(size * 8_000_000, bps)))
    return [call.sent for call in calls]


def rows(log, begins_us=0):
    """A log as the plain simulator writes it, on the call's own clock."""
    return [
        (int(p["created_us"]) - begins_us, int(p["sent_us"]) - begins_us, int(p["arrived_us"]) - (begins_us if p["arrived_us"] >= 0 else 0),
         int(p["size_bytes"]), int(p["kind"]))
        for p in log
    ]  # fmt: skip
