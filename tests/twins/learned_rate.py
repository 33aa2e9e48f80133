"""The learned rate written with lists of all reports instead of counters."""

import math


class PlainLearnedRate:
    """The slow twin of `LearnedRate`, in ms and bit/s; fed with reports one after the other."""

    def __init__(self, weights, start, least, most):
        *prices, self.rise, self.fall, self.ahead, self.wider = weights
        self.alone, self.competing = prices[:6], prices[6:]
        self.target, self.least, self.most = start, least, most
        self.delays, self.trips, self.queue, self.slow, self.loss, self.rate = [], [], 0.0, 0.0, 0.0, start
        self.known, self.windows, self.window = None, [(0.0, [0.0])], math.inf

    def report(self, packets):
        known = packets[0].known_us / 1e6
        since = 0.0 if self.known is None else known - self.known
        dt, arrived = min(since, 0.2), [one for one in packets if one.arrived_us >= 0]
        if arrived:
            self.delays.append(min((one.arrived_us - one.sent_us) / 1000 for one in arrived))
            self.trips.append(min((one.known_us - one.sent_us) / 1000 for one in arrived))
            self.queue = self.delays[-1] - min(self.delays)
        self.slow = math.exp(-dt) * self.slow + (1 - math.exp(-dt)) * self.queue
        self.loss = math.exp(-dt) * self.loss + (1 - math.exp(-dt)) * (1 - len(arrived) / len(packets))
        if since:
            keeps = math.exp(-since / 0.3)
            self.rate = keeps * self.rate + (1 - keeps) * 8 * sum(one.size_bytes for one in arrived) / since
        if known - self.windows[-1][0] >= 3:
            self.windows.append((known, []))
        self.windows[-1][1].append(self.queue)
        standing = min(min(queues) for _, queues in self.windows[-2:]) if len(self.windows) > 1 else 0.0
        short = math.log(max(self.rate, 1) / self.target) if self.queue > 20 else 0.0
        features = [
            1, self.queue / (self.queue + 50), max(-2, min(2, (self.queue - self.slow) / 50)), min(10 * self.loss, 3),
            min(10, 1e6 / self.target), max(-2, min(0, short)),
        ]  # fmt: skip
        c = standing / (standing + 50)
        wish = math.tanh(sum((a + c * b) * f for a, b, f in zip(self.alone, self.competing, features, strict=True)))
        self.target *= math.exp(dt * math.exp(self.rise if wish > 0 else self.fall) * wish)
        self.target = min(max(self.target, self.least), self.most)
        ahead = min(self.trips) + math.exp(self.ahead + c * self.wider) + min(self.slow, 100)
        least = min(self.trips) + math.exp(self.ahead) + min(self.slow, 1200)
        passes = min(self.target, 1.2 * self.rate) if self.queue > 20 else self.target
        self.window = max(3000, passes * ahead / 8000, self.least * least / 8000)
        self.known = known
        return self.target

    def hear_nothing(self):
        """Half a second without a report, while packets wait at the sender."""
        self.target = max(0.7 * self.target, self.least)
        self.window += 3000
