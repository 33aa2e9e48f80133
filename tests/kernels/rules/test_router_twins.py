"""Routers that learn: twins in plain Python."""

import math
import statistics

import numpy as np
import pytest

from twins.session import Inside
from vcgym.baselines.path.discounted_thompson import DiscountedThompson
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.path.linucb import LinUCB
from vcgym.baselines.path.sliding_thompson import SlidingThompson
from vcgym.baselines.path.vcroute.vcroute import RewardSource, Sample, VCRoute
from vcgym.baselines.path.vcroute.version_2 import VCRouteV2
from vcgym.baselines.path.via import Via
from vcgym.baselines.records import MEDIA, PROBE, Record
from vcgym.network.kernels.rng import POLICY, normal, stream_key

KEY = np.uint64(77)
HISTORIES = {
    "gaps": np.array([[40, 105.0, 16.1], [40, 112.5, 24.2], [0, 0.0, 0.0], [1, 160.0, 0.0], [40, 119.0, 35.5]]),
    "two": np.array([[40, 105.0, 16.1], [40, 112.5, 24.2]]),
    "none": np.zeros((3, 3)),
    "one is out": np.array([[40, 105.0, 16.1], [40, 112.5, 24.2], [40, 160.0, 3.0], [40, 119.0, 35.5]]),
}


def record_of(kind, path, packet, delay_us):
    sent_us = 10_000 * packet
    return Record(kind, packet, path, sent_us, sent_us + delay_us, sent_us + 2 * delay_us, 0, 0)


def play(params, count, seed, history):
    """Decide `count` times; feedback comes seven to fourteen slots late, out of order, a tenth never; now and then a probe's answer."""
    rng = np.random.default_rng(seed)
    delays = rng.integers(60_000, 180_000, (count, len(history)))
    late_slots = rng.integers(7, 15, count)
    rule, paths, shown = Inside(params, history, KEY), [], []
    due = [[] for _ in range(count + 20)]
    for slot in range(count):
        if slot % 11 == 5:
            probed = slot % len(history)
            due[slot].append(record_of(PROBE, probed, slot - 3, int(delays[slot - 3, probed])))
        for record in due[slot]:
            rule.learn(record)
        shown.append(due[slot])
        paths.append(rule.decide(slot * 10_000))
        carried = paths[-1] if slot % 13 else 0  # a plan that comes late leaves the packet on another path
        if rng.random() >= 0.1:
            due[slot + late_slots[slot]].append(record_of(MEDIA, carried, slot, int(delays[slot, carried])))
    return paths, shown


class Twin:
    """What every twin remembers: all that was shown so far, and history with its gaps filled."""

    def __init__(self, params, history):
        self.params, self.shown, self.paths = params, [], len(history)
        mean = statistics.median([m for n, m, _ in history if n >= 1] or [0.0])
        variance = statistics.median([sd**2 for n, _, sd in history if n >= 2] or [1000.0])
        self.usual = [float(m) if n >= 1 else mean for n, m, _ in history]
        self.variance = [float(sd**2) if n >= 2 else variance for n, _, sd in history]
        self.stream = stream_key(KEY, 0, POLICY)
        half = [1.96 * sd / math.sqrt(n) if n > 1 else math.inf for n, _, sd in history]
        self.bounds = [(m - wide, m + wide) for (_, m, _), wide in zip(history, half, strict=True)]

    def kept(self):
        """The paths whose interval overlaps a better one that is kept."""
        order = sorted(range(self.paths), key=lambda path: self.bounds[path][0])
        size = 1
        while size < len(order) and self.bounds[order[size]][0] <= max(self.bounds[path][1] for path in order[:size]):
            size += 1
        return sorted(order[:size])

    def draw(self, slot, path):
        return normal(self.stream, slot * self.paths + path)

    def newest(self, path):
        """Sent time (us) and delay (ms) of the newest feedback of a path, or None."""
        on_path = [(r.sent_us, delay_ms(r)) for r in self.shown if r.path == path]
        return max(on_path, default=None)

    def show(self, records):
        self.shown += records

    def smallest(self, costs):
        return min(costs, key=costs.__getitem__)


def delay_ms(record):
    return (record.arrived_us - record.sent_us) / 1000.0


class TwinGreedy(Twin):
    held = None

    def estimate(self, path):
        """Fed-back delays that were the newest when they came, averaged from the first on."""
        estimate, newest = None, -1
        for record in self.shown:
            if record.path == path and record.sent_us > newest:
                share = 1.0
                if estimate is not None and self.params.smoothing_ms:
                    share = 1 - math.exp(-(record.sent_us - newest) / 1000 / self.params.smoothing_ms)
                estimate = delay_ms(record) if estimate is None else (1 - share) * estimate + share * delay_ms(record)
                newest = record.sent_us
        return estimate, newest

    def decide(self, slot):
        expected = {}
        for path in range(self.paths):
            estimate, newest = self.estimate(path)
            fresh = 0.5 ** ((10_000 * slot - newest) / 1000 / self.params.half_life_ms)
            expected[path] = self.usual[path] if estimate is None else fresh * estimate + (1 - fresh) * self.usual[path]
        best = self.smallest(expected)
        if self.held is None or expected[best] < expected[self.held] - self.params.margin_ms:
            self.held = best
        return self.held


class TwinDiscounted(Twin):
    def decide(self, slot):
        draws = {}
        for path in range(self.paths):
            on_path = [r for r in self.shown if r.path == path]
            weights = [math.exp(-(10_000 * slot - r.sent_us) / 1000 / self.params.memory_ms) for r in on_path]
            known = self.params.prior_packets + sum(weights)
            total = self.params.prior_packets * self.usual[path] + sum(w * delay_ms(r) for w, r in zip(weights, on_path, strict=True))
            draws[path] = total / known + math.sqrt(max(1.0, self.variance[path]) / known) * self.draw(slot, path)
        return self.smallest(draws)


class TwinSliding(Twin):
    def decide(self, slot):
        draws = {}
        for path in range(self.paths):
            on_path = [delay_ms(r) for r in self.shown[-self.params.window :] if r.path == path]
            known = self.params.prior_packets + len(on_path)
            mean = (self.params.prior_packets * self.usual[path] + sum(on_path)) / known
            draws[path] = mean + math.sqrt(max(1.0, self.variance[path]) / known) * self.draw(slot, path)
        return self.smallest(draws)


class TwinLinUCB(Twin):
    """The normal equations, solved anew for each decision."""

    def __init__(self, params, history):
        super().__init__(params, history)
        self.decided, self.rows, self.costs = {}, [], []

    def x(self, slot, path):
        sent, newest = self.newest(path) or (0, self.usual[path])
        return np.array([1.0, newest / 100, min((10_000 * slot - sent) / 1e6, 10.0), self.usual[path] / 100])

    def show(self, records):
        for record in records:
            path, x = self.decided.get(record.packet, (None, None))
            if record.kind == MEDIA and path == record.path:
                self.rows.append(x)
                self.costs.append(delay_ms(record) / 100)
        self.shown += records

    def decide(self, slot):
        ridge, rows = self.params.ridge, np.array(self.rows).reshape(-1, 4)
        a = ridge * np.eye(4) + rows.T @ rows
        theta = np.linalg.solve(a, ridge * np.array([0, 0, 0, 1.0]) + rows.T @ np.array(self.costs))
        xs = [self.x(slot, path) for path in range(self.paths)]
        index = {p: theta @ x - self.params.alpha * math.sqrt(x @ np.linalg.solve(a, x)) for p, x in enumerate(xs)}
        best = self.smallest(index)
        self.decided[slot] = (best, xs[best])
        return best


class TwinVia(Twin):
    def __init__(self, params, history):
        super().__init__(params, history)
        finite = [high for _, high in (self.bounds[path] for path in self.kept()) if high < math.inf]
        self.scale = sum(finite) / len(finite) if finite else 100.0
        self.known = [m if n > 0 else self.scale for n, m, _ in history]
        self.decided = [0] * self.paths

    def decide(self, slot):
        index = {}
        for path in self.kept():
            costs = [delay_ms(record) for record in self.shown if record.path == path and record.kind == MEDIA]
            mean, tries = sum(costs) / len(costs) if costs else self.known[path], self.decided[path]
            index[path] = mean / self.scale - math.sqrt(self.params.ucb_c * math.log(slot) / tries) if tries else -math.inf
        best = self.smallest(index)
        self.decided[best] += 1
        return best


class TwinVCRoute(Twin):
    def __init__(self, params, history):
        super().__init__(params, history)
        self.route = getattr(params, "route", params)
        self.mu, self.tau, self.tau0 = [0.0] * self.paths, [0.001] * self.paths, [1 / max(1.0, variance) for variance in self.variance]

    def reward_ms(self, path):
        return (self.newest(path) or (0, self.usual[path]))[1]

    def choose(self, slot):
        own = self.route.sample == Sample.PREDICTIVE
        sd = [math.sqrt(1 / tau + (1 / tau0 if own else 0.0)) for tau, tau0 in zip(self.tau, self.tau0, strict=True)]
        return self.smallest({path: self.mu[path] + sd[path] * self.draw(slot, path) for path in self.kept()})

    def decide(self, slot):
        path = self.choose(slot)
        tau, tau0 = max(0.001, self.route.discount * self.tau[path]), self.tau0[path]
        self.mu[path] = (tau * self.mu[path] + tau0 * self.reward_ms(path)) / (tau + tau0)
        self.tau[path] = tau + tau0
        return path


class TwinDelayed(TwinVCRoute):
    """Each delay that is fed back, and each loss, is a reward of the path that carried the packet."""

    def __init__(self, params, history):
        super().__init__(params, history)
        self.decided, self.losses = [], [[] for _ in history]

    def decide(self, slot):
        lost = slot - self.params.loss_after_packets
        if self.params.loss_reward_ms and lost >= 0 and lost not in {r.packet for r in self.shown if r.kind == MEDIA}:
            self.losses[self.decided[lost]].append(self.params.loss_reward_ms)
        for path in range(self.paths):
            rewards = [delay_ms(r) for r in self.shown if r.path == path and r.kind == MEDIA] + self.losses[path]
            self.tau[path] = 0.001 + len(rewards) * self.tau0[path]
            self.mu[path] = self.tau0[path] * sum(rewards) / self.tau[path]
        self.decided.append(self.choose(slot))
        return self.decided[-1]


class TwinVCRouteV2(TwinVCRoute):
    def spread(self, path):
        gain, mean, variance = self.params.spread_gain, self.usual[path], self.variance[path]
        for record in self.shown:
            if record.path == path:
                difference = delay_ms(record) - mean
                mean += gain * difference
                variance = (1 - gain) * (variance + gain * difference**2)
        return math.sqrt(variance)

    def reward_ms(self, path):
        return super().reward_ms(path) + self.params.spread_weight * self.spread(path)


DELAYED = {"reward": RewardSource.DELAYED_ACTUAL}
RULES = [
    (TwinGreedy, Greedy()),
    (TwinGreedy, Greedy(smoothing_ms=150.0, half_life_ms=300.0, margin_ms=2.0)),
    (TwinDiscounted, DiscountedThompson()),
    (TwinSliding, SlidingThompson(window=40)),
    (TwinLinUCB, LinUCB()),
    (TwinLinUCB, LinUCB(alpha=2.0, ridge=0.1)),
    (TwinVia, Via()),
    (TwinVia, Via(ucb_c=0.1)),
    (TwinVCRoute, VCRoute()),
    (TwinVCRoute, VCRoute(sample=Sample.MEAN)),
    (TwinVCRoute, VCRoute(discount=0.99)),
    (TwinDelayed, VCRoute(**DELAYED)),
    (TwinDelayed, VCRoute(**DELAYED, loss_reward_ms=900.0, loss_after_packets=20)),
    (TwinVCRouteV2, VCRouteV2()),
    (TwinVCRouteV2, VCRouteV2(spread_weight=3.0, spread_gain=0.3, route=VCRoute(discount=0.98))),
]


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize(("kind", "params"), RULES, ids=lambda one: getattr(one, "__name__", ""))
def test_decisions_equal_the_twin(kind, params, history):
    paths, shown = play(params, 250, seed=6, history=history)
    twin = kind(params, history)
    for slot, path in enumerate(paths):
        twin.show(shown[slot])
        assert path == twin.decide(slot)
    assert len(set(paths)) >= 2
    assert set(paths) == set(twin.kept()) or not isinstance(params, Via)
    assert not getattr(params, "loss_reward_ms", 0.0) or sum(map(len, twin.losses)) > 10


def test_greedy_returns_to_history_as_feedback_grows_old():
    params, history = Greedy(half_life_ms=1000.0, margin_ms=0.0), np.array([[9, 100.0, 1.0], [9, 110.0, 1.0]])
    rule = Inside(params, history, KEY)
    rule.learn(record_of(MEDIA, 0, 0, 118_000))
    # 100 + 18 / 2^(age) falls below 110 at 0.848 s.
    assert [rule.decide(slot * 10_000) for slot in (1, 84, 85)] == [1, 1, 0]
