"""Slow twin of libwebrtc's FEC for video: all reports and frames are kept, and each decision starts from them, with the source's types."""

import math

import numpy as np


def whole(value, most=255):
    """Return a number as the source's casts to unsigned types do: cut off, and held within the type."""
    return min(max(int(value), 0), most)


def protected(table, losses, rtt_ms, kbps, frames_per_s, pixels, packets_delta, packets_key):
    """Return the shares of delta frames and of key frames in 255ths, and the frames of a block at most.

    Args:
        table: (50, 129), shares in 255ths.
        losses: shares of packets lost in the last seconds, the largest counts.
        rtt_ms: round trip.
        kbps: target.
        frames_per_s: frame rate.
        pixels: of a frame.
        packets_delta: usual packets of a delta frame, a fraction.
        packets_key: of a key frame.
    """
    loss = min(whole(256 * max(losses, default=0.0)), 128)  # as a receiver report has it
    kbit = int(np.float32(kbps) / np.float32(frames_per_s))
    delta = key = 0
    if loss > 0:
        scale = np.float32(1.0) / np.power(np.float32(pixels) / np.float32(704 * 576), np.float32(0.3))
        effective = whole(scale * np.float32(kbit), 65535)
        delta = table[min(max(math.trunc((effective - 5) / 5), 0), 49)][loss]
        if whole(1.5 + kbit * 1000.0 / (8.0 * 1460)) > 1:
            delta = max(delta, 51)
        delta = min(delta, 128)
        usual, usual_key = whole(0.5 + packets_delta), whole(0.5 + packets_key)  # 255 at most
        boost = max(usual_key // usual if usual else 1, 2)
        key = table[min(max(1 + math.trunc((boost * effective - 5) / 5), 0), 49)][loss]
        key = min(max(loss, min(2 * delta, 128), key), 128)
    if rtt_ms < 20:
        delta = 0
    least_bytes = 400 if pixels <= 352 * 288 else 1000 if pixels > 640 * 480 else 700
    if 1000 * kbit // 8 < least_bytes and rtt_ms < 200:
        delta = key = 0
    return delta, key, min(max(int(2.0 * frames_per_s * rtt_ms / 1000.0 + 0.5), 1), 6)


def per_256(share):
    return whole(min(255, 0.5 + 255.0 * share / (255 - share)))


def repairs_for(packets, factor):
    count = (packets * factor + (1 << 7)) >> 8
    return 1 if factor > 0 and count == 0 else count


class PlainWebrtcVideo:
    """Frames and reports of one call, in order of time."""

    def __init__(self, table, pixels):
        self.table, self.pixels = table.tolist(), pixels
        self.reports, self.sizes, self.block = [], {0: [], 1: []}, []

    def report(self, known_us, trip_us):
        """Take the report of a packet; `trip_us` None if it is lost."""
        self.reports.append((known_us, trip_us))

    def frame(self, now_us, size_bytes, packets, longest, is_key, target_bps, interval_us):
        """Return the repair packets that follow, the frames before that they cover, and the longest packet and the packets of all these."""
        self.sizes[is_key].append((now_us, size_bytes / 1200))
        self.block.append((packets, longest, is_key))
        frames_per_s = max(round(1e6 / interval_us), 1)
        seconds = range(max(now_us // 1_000_000 - 10, 0), now_us // 1_000_000)
        losses = [self.lost_in(second) for second in seconds]
        kbps, usual = max(target_bps, 0.0) / 1000.0, [self.usual(kind) for kind in (0, 1)]
        delta, key, most = protected(self.table, losses, int(self.rtt_us() / 1000), kbps, frames_per_s, self.pixels, *usual)
        before, factor = (per_256(key if any(kind for *_, kind in block) else delta) for block in (self.block[:-1], self.block))
        packets = min(sum(frame[0] for frame in self.block), 48)
        least = (4 if before > 80 else 1) + (packets / len(self.block) >= 2)
        excess = (repairs_for(packets, factor) << 8) // packets - factor
        if len(self.block) < most and not (excess < 50 and packets >= least):
            return 0, 0, 0, 0
        asked = repairs_for(packets, factor), len(self.block) - 1, max(frame[1] for frame in self.block), packets
        self.block = []
        return asked

    def lost_in(self, second):
        trips = [trip_us for known_us, trip_us in self.reports if known_us // 1_000_000 == second]
        return trips.count(None) / len(trips) if trips else 0.0

    def rtt_us(self):
        rtt_us = 100_000.0
        for _, trip_us in self.reports:
            if trip_us is not None:
                rtt_us += (trip_us - rtt_us) / 8
        return rtt_us

    def usual(self, kind):
        """Return the packets of frames of a kind, averaged with a weight that fades by 0.9999 in a millisecond."""
        average, before_us = None, 0
        for at_us, packets in self.sizes[kind]:
            keeps = 0.9999 ** ((at_us - before_us) / 1000.0)
            average, before_us = packets if average is None else keeps * average + (1.0 - keeps) * packets, at_us
        return average or 0.0
