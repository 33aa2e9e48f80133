"""Slow, plain twins of the learned rules: one call, Python numbers, whole lists where the kernels keep sums."""

import math

import numpy as np

from vcgym.agents.controllers.learned_router import Prices, Shared


class PlainLag:
    """`LearnedLag` for one call; `arrive` returns the lag in ms, before rounding."""

    def __init__(self, params, history):
        self.params, self.history = params, history
        self.seen = []  # (sent_ms, delay_ms, path, arrived_ms) in order of arrival
        self.mean = self.deviation = self.peak = self.quantile = None
        self.missing = [0.0, 0.0]
        self.newest = -10.0
        self.changed_ms, self.step_ms = -1e9, 0.0
        self.target_ms = self.playout_ms = 0.0

    def arrive(self, path, sent_ms, arrived_ms):
        delay_ms = arrived_ms - sent_ms
        first = not self.seen
        if first:
            self.path, self.delay_ms = path, delay_ms
            self.mean, self.deviation, self.peak, self.quantile = [delay_ms] * 3, [0.0] * 3, [0.0] * 3, [delay_ms] * 3
        before_ms = arrived_ms if first else self.seen[-1][3]
        jitter_ms = max(0.0, delay_ms - self._smallest(sent_ms, delay_ms))
        overtaken = sent_ms < self.newest
        skipped = (sent_ms - self.newest) / 10.0
        slope_ms = 0.0
        if not overtaken:
            self._follow(path, delay_ms, arrived_ms)
            slope_ms = delay_ms - self.delay_ms
            self._average(delay_ms, 10.0 * skipped)
            self.missing = [m * (1 - 1 / n) + (skipped - 1) / n for m, n in zip(self.missing, (100, 1000), strict=True)]
            self.newest, self.delay_ms = sent_ms, delay_ms
        else:
            self.missing = [max(0.0, m - 1 / n) for m, n in zip(self.missing, (100, 1000), strict=True)]
        self.seen.append((sent_ms, delay_ms, path, arrived_ms))
        x = self._features(slope_ms, jitter_ms, arrived_ms, before_ms, skipped, overtaken)
        # The first packet finds no arrival before it; the kernel counts its time from 0, when there was no target either.
        passed_ms = arrived_ms - (0.0 if first else before_ms)
        drawn = min(max(self.target_ms - self.playout_ms, -0.1 * passed_ms), 0.1 * passed_ms)
        self.playout_ms += drawn
        if not overtaken:
            self.playout_ms = max(self.playout_ms, delay_ms)
        if self.playout_ms > self.target_ms + 1000:
            self.playout_ms = max(self.target_ms, delay_ms)
        self.target_ms = self.delay_ms + self._headroom_ms(x)
        return max(0.0, max(self.playout_ms, self.target_ms) - (delay_ms - jitter_ms))

    def _smallest(self, sent_ms, delay_ms):
        """Smallest delay of the last 2 s of sent time, predecessors of its oldest arrival included."""
        newest = max([sent_ms] + [packet[0] for packet in self.seen[1:]])
        counts, running = [], -math.inf
        for n, packet in enumerate(self.seen):
            following = self.seen[n + 1][0] if n + 1 < len(self.seen) else sent_ms
            running = max(running, following)
            if running >= newest - 2000.0:
                counts.append(packet[1])
        return min([delay_ms, *counts])

    def _follow(self, path, delay_ms, arrived_ms):
        if path == self.path:
            return
        step = delay_ms - self.mean[0]
        self.step_ms, self.changed_ms, self.path = -step, arrived_ms, path
        self.delay_ms += step
        self.mean = [mean + step for mean in self.mean]
        self.quantile = [quantile + step for quantile in self.quantile]

    def _average(self, delay_ms, passed_ms):
        weights = [1 / 3, 1 - math.exp(-passed_ms / 300), 1 - math.exp(-passed_ms / 3000)]
        for i, (weight, half_life_ms) in enumerate(zip(weights, (1000, 5000, 30000), strict=True)):
            self.deviation[i] += weight * (abs(delay_ms - self.mean[i]) - self.deviation[i])
            self.mean[i] += weight * (delay_ms - self.mean[i])
            self.peak[i] *= 0.5 ** (passed_ms / half_life_ms)
        for i, (share, step) in enumerate(((0.90, 0.1), (0.97, 0.15), (0.99, 0.2))):
            self.peak[i] = max(self.peak[i], delay_ms - self.mean[2])
            self.quantile[i] += step * (self.deviation[2] + 0.1) * (share if delay_ms > self.quantile[i] else share - 1)

    def _features(self, slope_ms, jitter_ms, arrived_ms, before_ms, skipped, overtaken):
        delays = [packet[1] for packet in self.seen]
        fastest = min(packet[1] for packet in self.seen if packet[2] == self.path)
        recent = 0.5 ** ((arrived_ms - self.changed_ms) / 500)
        usual_ms, sd_ms = self.history[self.path]
        x = [(self.delay_ms - mean) / 20 for mean in self.mean]
        x += [deviation / 20 for deviation in self.deviation]
        x += [(peak + self.mean[2] - self.delay_ms) / 20 for peak in self.peak]
        x += [(quantile - self.delay_ms) / 20 for quantile in self.quantile]
        x += [jitter_ms / 20, (self.delay_ms - fastest) / 20, (self.delay_ms - usual_ms) / 20, sd_ms / 20, slope_ms / 20]
        x += [(arrived_ms - before_ms) / 20, max(skipped, -20) if overtaken else min(skipped - 1, 20)]
        x += [100 * self.missing[0], 100 * self.missing[1], recent, recent * self.step_ms / 20]
        x += [(self.mean[2] - 177.3) / 20, (sum(delays) / len(delays) - 177.3) / 20]
        return np.array([value / math.sqrt(1 + abs(value)) for value in x])

    def _headroom_ms(self, x):
        for weights in self.params[:2]:
            x = np.maximum(x @ weights[:-1].astype(float) + weights[-1], 0.0)
        out = float(x @ self.params.last[:-1].astype(float) + self.params.last[-1])
        return 20 * math.log1p(math.exp(out))


class PlainHedge(PlainLag):
    """`HedgedLag` for one call: at each arrival every expert plays the whole call anew, from the list of its targets."""

    def __init__(self, params, history):
        super().__init__(params, history)
        self.targets = []  # of all experts, at each arrival

    def _headroom_ms(self, x):
        scores = [math.log(prior) for prior in self.params.prior]
        if self.targets:
            scores = [score + self._gain(e) for e, score in enumerate(scores)]
        weights = [math.exp(score - max(scores)) for score in scores]
        targets = [max(self.delay_ms, quantile) + 7 for quantile in self.quantile]
        targets = [self.delay_ms + self._of_network(n, x) for n in range(len(self.params.first))] + targets
        self.targets.append(targets)
        return sum(weight * target for weight, target in zip(weights, targets, strict=True)) / sum(weights) - self.delay_ms

    def _of_network(self, n, x):
        for weights in (self.params.first[n], self.params.second[n]):
            x = np.maximum(x @ weights[:-1].astype(float) + weights[-1], 0.0)
        return 20 * math.log1p(math.exp(float(x @ self.params.last[n, :-1].astype(float) + self.params.last[n, -1])))

    def _gain(self, e):
        playout, credit, concealed, total, newest = self.targets[0][e], 5.0, 0.0, 0.0, self.seen[0][0]
        for i in range(1, len(self.seen)):
            sent_ms, delay_ms, _, arrived_ms = self.seen[i]
            reach, target = min(5.0, credit + 0.1 * (arrived_ms - self.seen[i - 1][3])), self.targets[i - 1][e]
            moved = max(-reach, min(reach, target - playout))
            playout, credit = (target, reach) if playout > target + 1000 else (playout + moved, reach - abs(moved))
            if delay_ms > playout:
                concealed += 10.0 if sent_ms < newest else delay_ms - playout
                playout = playout if sent_ms < newest else delay_ms
            total, newest = total + playout, max(newest, sent_ms)
        n = len(self.seen) - 1
        x, p = total / n + 5.0, 10.0 * concealed / n
        r = max(0.0, 93.2 - 0.024 * x - 0.11 * max(0.0, x - 177.3) - 95 * p / (p + 25.1))
        return r * n / (6000 * self.params.temperature)


class PlainRouter:
    """`LearnedRouter` for one call."""

    def __init__(self, prices, samples, mean_ms, sd_ms, slots):
        self.set_prices(prices)
        self.mean_ms, self.sd_ms = mean_ms, sd_ms
        self.missing = [100 * max(0.0, 1 - n / slots) for n in samples]
        self.news = {}  # by path: excess, deviation, sent_ms
        self.expected = [0.0] * len(mean_ms)
        self.lately = [0.0] * len(mean_ms)
        self.media = {}  # by path: its newest packet
        self.delays = [min(mean_ms)] * 100
        self.newest, self.lag_ms, self.path, self.news_ms = -1, 0.0, None, 0.0
        self.delay_ms = self.level_ms = self.step_ms = 0.0
        self.spread_ms = 1.0

    def set_prices(self, prices):
        self.below, self.above = Prices(*prices[:11])._asdict(), Prices(*prices[11:22])._asdict()
        self.once = Shared(*prices[22:])._asdict()

    @property
    def rough(self):
        return min(max((self.step_ms / self.spread_ms - 0.4) / 0.8, 0.0), 1.0)

    def hear(self, record):
        delay_ms, sent_ms = (record.arrived_us - record.sent_us) / 1000, record.sent_us / 1000
        if record.kind == 0:
            self.delays.append(delay_ms)
            self._take_media(record, delay_ms)
        else:
            self.lately[record.path] *= 0.7
        excess = delay_ms - self.mean_ms[record.path]
        if record.path not in self.news:
            self.news[record.path] = (excess, 0.0, sent_ms)
            return
        old, deviation, before_ms = self.news[record.path]
        if sent_ms <= before_ms:
            return
        memory = self.once["log_smoothing_ms"] + self.once["smoothing_rough"] * self.rough
        memories_ms = math.exp(memory), math.exp(self.once["log_deviation_ms"])
        smooth, slow = (1 - math.exp(-(sent_ms - before_ms) / memory_ms) for memory_ms in memories_ms)
        self.news[record.path] = (old + smooth * (excess - old), deviation + slow * (abs(excess - old) - deviation), sent_ms)

    def _take_media(self, record, delay_ms):
        if record.packet <= self.newest:
            return
        if self.media.get(record.path, None) == self.newest:
            lost = min(record.packet - self.newest - 1, 20)
            self.lately[record.path] = min(100.0, self.lately[record.path] * (1 - 1 / 200) + 100 * lost / 200)
            self.step_ms += (abs(delay_ms - self.delay_ms) - self.step_ms) / 100
            self.spread_ms += (abs(delay_ms - self.level_ms) - self.spread_ms) / 100
            self.level_ms += (delay_ms - self.level_ms) / 100
        else:
            self.level_ms = delay_ms
        self.delay_ms, self.news_ms = delay_ms, record.known_us / 1000
        self.newest, self.lag_ms = record.packet, record.lag_us / 1000
        self.media[record.path] = record.packet

    def choose(self, now_ms):
        if self.path is not None:
            patience_ms = 300 + 2 * (self.mean_ms[self.path] + max(self.expected[self.path], 0))
            if now_ms - self.news_ms > patience_ms:
                self.lately[self.path] += (100 - self.lately[self.path]) / 200
        price, common, costs = self._costs(now_ms)
        best = int(np.argmin(costs))
        if self.path is None:
            self.path = best
        delays = [usual_ms + excess for usual_ms, excess in zip(self.mean_ms, self.expected, strict=True)]
        slower = max(0.0, delays[best] - delays[self.path] - self.once["bridge"] * self.lag_ms)
        margin = price["margin_ms"] + price["margin_shared"] * common + self.once["margin_rough_ms"] * self.rough
        if best != self.path and costs[best] + margin + price["slower"] * slower < costs[self.path]:
            self.path, self.news_ms = best, now_ms
        return self.path

    def _costs(self, now_ms):
        x = (sum(self.delays) / len(self.delays) - 177.3 - self.once["blend_from_ms"]) / math.exp(self.once["log_blend_ms"])
        blend = 1 / (1 + math.exp(-min(max(x, -30), 30)))
        price = {name: self.below[name] + blend * (self.above[name] - self.below[name]) for name in self.below}
        fresh = [excess for excess, _, sent_ms in self.news.values() if now_ms - sent_ms < math.exp(self.once["log_fresh_ms"])]
        common = max(0.0, min(fresh, default=0.0))
        shared = price["guard"] * common
        by_excess = max(0.0, 1 + price["excess"] + self.once["excess_rough"] * self.rough)
        costs = []
        for path, usual_ms in enumerate(self.mean_ms):
            excess, spread = 0.0, price["sd_unreported"] * self.sd_ms[path]
            if path in self.news:
                old, deviation, sent_ms = self.news[path]
                excess = old * 0.5 ** ((now_ms - sent_ms) / math.exp(price["log_half_life_ms"]))
                spread = price["deviation"] * deviation + price["sd_history"] * self.sd_ms[path]
            self.expected[path] = max(excess, shared) if shared > 0 else excess
            missing = price["missing_history"] * self.missing[path] + price["missing_call"] * self.lately[path]
            costs.append(usual_ms + by_excess * self.expected[path] + spread + missing)
        return price, common, costs


class PlainGatedRouter(PlainRouter):
    """`GatedRouter` for one call; `gates` are those after each record."""

    def __init__(self, prices, *history):
        super().__init__(prices[1], *history)
        self.sets, self.gates = prices, []

    def hear(self, record):
        super().hear(record)
        ratio = self.step_ms / self.spread_ms
        self.gates.append(1.0 if len(self.delays) < 200 or ratio > 0.7 else max(0.0, (ratio - 0.5) / 0.2))
        self.set_prices([a + self.gates[-1] * (b - a) for a, b in zip(*self.sets, strict=True)])
