"""Routers that learn: twins in plain Python, and properties of those that forget."""

import math
import statistics

import numpy as np
import pytest

from vcgym.baselines.path.discounted_thompson import DiscountedThompson
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.path.linucb import LinUCB
from vcgym.baselines.path.sliding_thompson import SlidingThompson
from vcgym.baselines.path.vcroute.vcroute import RewardSource, Sample, VCRoute
from vcgym.baselines.path.vcroute.version_2 import VCRouteV2
from vcgym.baselines.path.via import Via
from vcgym.baselines.records import MEDIA, PROBE, Record, path_history
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.network.kernels.rng import POLICY, normal, stream_key

KEY = np.uint64(77)
HISTORY = np.array([[40, 105.0, 16.1], [40, 112.5, 24.2], [0, 0.0, 0.0], [1, 160.0, 0.0], [40, 119.0, 35.5]])
HISTORIES = {
    "gaps": HISTORY,
    "two": HISTORY[[0, 1]],
    "none": np.zeros((3, 3)),
    "one is out": np.array([[40, 105.0, 16.1], [40, 112.5, 24.2], [40, 160.0, 3.0], [40, 119.0, 35.5]]),
}
RULES = [
    Greedy(),
    Greedy(smoothing_ms=150.0, half_life_ms=300.0, margin_ms=2.0),
    DiscountedThompson(),
    SlidingThompson(window=40),
    LinUCB(),
    LinUCB(alpha=2.0, ridge=0.1),
    Via(),
    Via(ucb_c=0.1),
    VCRoute(),
    VCRoute(sample=Sample.MEAN),
    VCRoute(discount=0.99),
    VCRoute(reward=RewardSource.DELAYED_ACTUAL),
    VCRoute(reward=RewardSource.DELAYED_ACTUAL, loss_reward_ms=900.0, loss_after_packets=20),
    VCRouteV2(),
    VCRouteV2(spread_weight=3.0, spread_gain=0.3, route=VCRoute(discount=0.98)),
]


def started(params, history):
    state = allocate(params, 2, len(history))
    init(params, state, 1, path_history(history), KEY)
    return state


def record_of(kind, path, packet, delay_us):
    sent_us = 10_000 * packet
    return Record(kind, packet, path, sent_us, sent_us + delay_us, sent_us + 2 * delay_us, 0, 0)


def play(params, count, seed, history):
    """Decide `count` times; feedback comes seven to fourteen slots late, out of order, a tenth never; now and then a probe's answer."""
    rng = np.random.default_rng(seed)
    delays = rng.integers(60_000, 180_000, (count, len(history)))
    late_slots = rng.integers(7, 15, count)
    state, paths, shown = started(params, history), [], []
    due = [[] for _ in range(count + 20)]
    for slot in range(count):
        if slot % 11 == 5:
            probed = slot % len(history)
            due[slot].append(record_of(PROBE, probed, slot - 3, int(delays[slot - 3, probed])))
        for record in due[slot]:
            update(params, state, 1, record)
        shown.append(due[slot])
        paths.append(int(decide(params, state, 1, slot * 10_000)))
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


def twin_of(params, history):
    if isinstance(params, VCRoute):
        return (TwinVCRoute if params.reward == RewardSource.PREDICTED else TwinDelayed)(params, history)
    return TWINS[type(params)](params, history)


TWINS = {
    Greedy: TwinGreedy,
    DiscountedThompson: TwinDiscounted,
    SlidingThompson: TwinSliding,
    LinUCB: TwinLinUCB,
    Via: TwinVia,
    VCRouteV2: TwinVCRouteV2,
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("params", RULES, ids=lambda params: type(params).__name__)
def test_decisions_equal_the_twin(params, history):
    paths, shown = play(params, 250, seed=6, history=history)
    twin = twin_of(params, history)
    for slot, path in enumerate(paths):
        twin.show(shown[slot])
        assert path == twin.decide(slot)
    assert len(set(paths)) >= 2
    assert set(paths) == set(twin.kept()) or not isinstance(params, Via)
    assert not getattr(params, "loss_reward_ms", 0.0) or sum(map(len, twin.losses)) > 10


def shares_of_the_better_path(params, swap_at, packets=2000, sessions=20):
    """Share per 500 packets. Paths of 100 and 130 ms (sd 10) swap delays; feedback 20 slots late, a probe of each path per second."""
    rng = np.random.default_rng(3)
    delays_ms = rng.normal([100.0, 130.0], 10.0, (sessions, packets, 2))
    delays_ms[:, swap_at:] = delays_ms[:, swap_at:, ::-1]
    delays_us = np.rint(1000 * delays_ms).astype(np.int64)
    history = np.array([[50, 100.0, 10.0], [50, 130.0, 10.0]])
    state, taken = allocate(params, sessions, 2), np.zeros((sessions, packets), np.int64)
    for s in range(sessions):
        init(params, state, s, path_history(history), np.uint64(s))
        for slot in range(packets):
            packet = slot - 20
            if packet >= 0:
                update(params, state, s, record_of(MEDIA, taken[s, packet], packet, delays_us[s, packet, taken[s, packet]]))
                if packet % 50 == 0:
                    probed = packet // 50 % 2
                    update(params, state, s, record_of(PROBE, probed, packet, delays_us[s, packet, probed]))
            taken[s, slot] = decide(params, state, s, slot * 10_000)
    better = (np.arange(packets) >= swap_at).astype(np.int64)
    return (taken == better).reshape(sessions, -1, 500).mean(axis=(0, 2))


@pytest.mark.parametrize(
    "params",
    [Greedy(smoothing_ms=200.0), Greedy(half_life_ms=1e5), DiscountedThompson(memory_ms=1000.0), SlidingThompson(window=200), LinUCB()],
)
def test_routers_that_forget_find_the_path_that_became_better(params):
    shares = shares_of_the_better_path(params, swap_at=1000, sessions=4)
    assert shares[1] > 0.95
    assert shares[3] > 0.9


def test_greedy_stays_within_its_margin_and_leaves_beyond_it():
    history = np.array([[9, 100.0, 1.0], [9, 100.0, 1.0]])
    for delay_us, path in ((104_900, 0), (105_200, 1)):
        state = started(Greedy(half_life_ms=1e9), history)
        assert decide(Greedy(half_life_ms=1e9), state, 1, 0) == 0
        update(Greedy(), state, 1, record_of(MEDIA, 0, 0, delay_us))
        assert decide(Greedy(half_life_ms=1e9), state, 1, 10_000) == path


def test_greedy_returns_to_history_as_feedback_grows_old():
    params, history = Greedy(half_life_ms=1000.0, margin_ms=0.0), np.array([[9, 100.0, 1.0], [9, 110.0, 1.0]])
    state = started(params, history)
    update(params, state, 1, record_of(MEDIA, 0, 0, 118_000))
    # 100 + 18 / 2^(age) falls below 110 at 0.848 s.
    assert [int(decide(params, state, 1, slot * 10_000)) for slot in (1, 84, 85)] == [1, 1, 0]


def test_linucb_learns_which_feature_tells():
    """Delays are 20 ms above the newest one heard, whatever history says: theta tends to (0.2, 1, 0, 0)."""
    params, rng = LinUCB(ridge=0.01), np.random.default_rng(2)
    state = started(params, np.array([[9, 100.0, 1.0], [9, 140.0, 1.0], [9, 120.0, 1.0]]))
    for slot in range(3000):
        newest_ms = rng.uniform(50, 150, 3)
        state.arms.newest[1], state.arms.sent_us[1] = newest_ms / 100, 10_000 * slot - rng.integers(0, 2_000_000, 3)
        path = int(decide(params, state, 1, slot * 10_000))
        update(params, state, 1, record_of(MEDIA, path, slot, int(1000 * (newest_ms[path] + 20))))
    np.testing.assert_allclose(state.regression[1].theta, [0.2, 1.0, 0.0, 0.0], atol=5e-3)


def test_vcroute_v2_without_spread_is_vcroute():
    for history in HISTORIES.values():
        assert play(VCRouteV2(spread_weight=0.0), 200, 8, history) == play(VCRoute(), 200, 8, history)


def test_vcroute_v2_prefers_the_steadier_of_two_paths_alike():
    """Equal means, spreads of 2 and 40 ms."""
    rng = np.random.default_rng(1)
    history = np.array([[50, 120.0, 40.0], [50, 120.0, 2.0]])
    params, counts = VCRouteV2(spread_weight=2.0), []
    for rule in (params, VCRoute()):
        state, steadier = started(rule, history), 0
        for slot in range(1500):
            path = int(decide(rule, state, 1, slot * 10_000))
            steadier += path == 1
            delay_us = int(1000 * (120 + rng.choice([-1, 1]) * (40, 2)[path]))
            update(rule, state, 1, record_of(MEDIA, path, slot, delay_us))
        counts.append(steadier / 1500)
    assert counts[0] > 0.9
    assert counts[1] < counts[0] - 0.1
