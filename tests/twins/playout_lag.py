"""Plain twins of what adaptive playout remembers: the accumulated jitter of a window, and NetEQ's histogram in unbounded integers."""

from fractions import Fraction
from math import floor


class TwinJitter:
    """The listing: a queue of (sent time, d) of 2000 ms and at most `most` packets, dropped from the front; its clamped running sum, us."""

    def __init__(self, most=10**6):
        self.queue, self.last_us, self.most = [], None, most

    def __call__(self, sent_us, arrived_us):
        if self.last_us is not None:
            self.queue.append((sent_us, arrived_us - sent_us - self.last_us))
            while sent_us - self.queue[0][0] > 2_000_000 or len(self.queue) > self.most:
                self.queue.pop(0)
        self.last_us, jitter_us = arrived_us - sent_us, 0
        for _, difference in self.queue:
            jitter_us = max(0, jitter_us + difference)
        return jitter_us


class TwinHistogram:
    """The update in unbounded integers and fractions, step by step; without a start weight the factor goes a quarter of the way."""

    def __init__(self, forget_factor=0.983, start_weight=2):
        self.start_weight = start_weight
        self.p = [floor(Fraction(16386, 2 ** (i + 1))) * 2**16 for i in range(100)]
        self.f, self.count, self.f_base = 0, 0, floor(Fraction(forget_factor) * 2**15)

    def add(self, bucket):
        if bucket >= 100:
            return
        self.p = [floor(Fraction(p * self.f, 2**15)) for p in self.p]
        self.p[bucket] += (2**15 - self.f) * 2**15
        for i in range(100):
            missing = 2**30 - sum(self.p)
            step = min(abs(missing), self.p[i] // 16)
            self.p[i] += step if missing > 0 else -step
        self.count += 1
        if self.start_weight:
            self.f = max(0, min(floor((1 - Fraction(self.start_weight, self.count + 1)) * 2**15), self.f_base))
        else:
            self.f += floor(Fraction(self.f_base - self.f + 3, 4))

    def quantile(self, share):
        return next(k for k in range(100) if sum(self.p[: k + 1]) >= floor(Fraction(share) * 2**30) or k == 99)
