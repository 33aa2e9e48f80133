"""A gate of rates: its driver decides as the rule does alone on the same reports, and its features equal those of a plain twin."""

import math

import numpy as np
import pytest

from vcgym.agents.controllers.learned_aim import WIDTH as AIM_WIDTH
from vcgym.agents.controllers.learned_aim import LearnedAim
from vcgym.agents.controllers.learned_gate import AIM, HOLD_US, NADA, RULES, SCREAM, WIDTH, LearnedGate
from vcgym.baselines.rate.nada.nada import Nada
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2
from vcgym.baselines.records import PacketFeedback, RateLimits, SenderStatus
from vcgym.baselines.rule import NEVER_US, allocate, decide, init, pacing, report_every_us, see_sender, update, wake_us, window_bytes

LIMITS = RateLimits(300e3, 50e3, 4e6)
REPORT_US, REPORTS = 50_000, 160  # 8 s


def layers(seed=0, hidden=8):
    draws = np.random.default_rng(seed)
    shapes = (AIM_WIDTH + 1, hidden), (hidden + 1, hidden), (hidden + 1,)
    return [draws.normal(0.0, 0.5, shape).astype(np.float32) for shape in shapes]


def gate(weights, margin=0.05):
    return LearnedGate(ScreamV2(), Nada(), *layers(), weights, margin)


def preferring(*biases):
    weights = np.zeros((RULES, WIDTH + 1))
    weights[:, WIDTH] = biases
    return weights


def reports(seed=1, count=REPORTS):
    """Yield the packets of each report, the time at which it is known, and what the sender has waiting."""
    draws, packet, sent_us, queue_us = np.random.default_rng(seed), 0, 0, 0.0
    for number in range(1, count + 1):
        known_us, packets = number * REPORT_US + 40_000, []
        while sent_us < number * REPORT_US - 30_000:
            queue_us = max(0.0, queue_us + draws.normal(0.0, 1000.0))
            arrived_us = -1 if draws.random() < 0.005 else sent_us + 20_000 + int(queue_us)
            packets.append(PacketFeedback(packet, int(draws.integers(200, 1200)), sent_us, arrived_us, known_us))
            packet, sent_us = packet + 1, sent_us + int(draws.integers(4000, 9000))
        yield packets, known_us, int(draws.integers(0, 5000))


def played(rule):
    """Return the decisions of a rule, and its state at the end."""
    state, found, sent = allocate(rule, 1, 1), [], 0
    init(rule, state, 0, LIMITS, np.uint64(0))
    for packets, known_us, waiting in reports():
        sent += sum(one.size_bytes for one in packets)
        for one in packets:
            update(rule, state, 0, one)
        see_sender(rule, state, 0, SenderStatus(waiting, sent + waiting, sent, len(found), 1200, 33_333))
        found.append(int(decide(rule, state, 0, known_us)))
    return np.array(found), state


ALONE = {SCREAM: ScreamV2(), NADA: Nada(), AIM: LearnedAim(*layers())}


@pytest.mark.parametrize("driver", [SCREAM, NADA, AIM], ids=["scream", "nada", "aim"])
def test_the_driver_decides_as_it_does_alone(driver):
    params = gate(preferring(*(float(one == driver) for one in range(RULES))))
    found, state = played(params)
    alone, alone_state = played(ALONE[driver])
    first, _ = played(ALONE[SCREAM])
    takes_over = next(n for n, (_, known_us, _) in enumerate(reports()) if known_us >= 3_000_000)
    assert found[:takes_over].tolist() == first[:takes_over].tolist()
    assert found[takes_over:].tolist() == alone[takes_over:].tolist() and len(np.unique(alone[takes_over:])) > 5
    for setting in (window_bytes, wake_us):
        if driver == SCREAM:
            assert setting(params, state, 0) == setting(ALONE[SCREAM], alone_state, 0) < NEVER_US
    if driver != SCREAM:
        assert window_bytes(params, state, 0) == NEVER_US
    assert pacing(params, state, 0, 2.0) == pacing(ALONE[driver], alone_state, 0, 2.0)
    assert report_every_us(params, state, 0, 100_000) == report_every_us(ALONE[driver], alone_state, 0, 100_000)


def test_a_greater_preference_within_the_margin_changes_nothing():
    assert played(gate(preferring(0.0, 0.04, 0.0)))[1].reported[0].driver == SCREAM
    assert played(gate(preferring(0.0, 0.06, 0.0)))[1].reported[0].driver == NADA


@pytest.mark.parametrize("stuck_us", [3_040_000, 5_040_000], ids=["under scream", "under the aim"])
def test_a_stuck_queue_gives_the_drive_to_scream_for_a_while(stuck_us):
    params = gate(preferring(0.0, 0.0, 1.0))
    state, drivers = allocate(params, 1, 1), {}
    init(params, state, 0, LIMITS, np.uint64(0))
    for packets, known_us, _ in reports(count=400):
        for one in packets:
            update(params, state, 0, one)
        see_sender(params, state, 0, SenderStatus(10**7 if known_us == stuck_us else 0, 0, 0, len(drivers), 1200, 33_333))
        decide(params, state, 0, known_us)
        drivers[known_us] = int(state.reported[0].driver)
    aim = [known_us for known_us, driver in drivers.items() if driver == AIM]
    held = [known_us for known_us in drivers if stuck_us <= known_us < stuck_us + HOLD_US] if stuck_us > 3_040_000 else []
    assert aim == [known_us for known_us in drivers if known_us >= 3_040_000 and known_us not in held]
    assert set(drivers.values()) == {SCREAM, AIM}


def test_features_are_those_of_the_last_second_and_their_means():
    params = gate(preferring(1.0, 0.0, 0.0))
    targets = [played(ALONE[one])[0] for one in range(RULES)]
    state, twin = allocate(params, 1, 1), Twin()
    init(params, state, 0, LIMITS, np.uint64(0))
    sent = 0
    for number, (packets, known_us, waiting) in enumerate(reports()):
        sent += sum(one.size_bytes for one in packets)
        for one in packets:
            update(params, state, 0, one)
        see_sender(params, state, 0, SenderStatus(waiting, sent + waiting, sent, number, 1200, 33_333))
        decide(params, state, 0, known_us)
        twin.learn(packets)
        if known_us >= twin.due_us:
            twin.due_us = known_us + 1_000_000
            expected = twin.features([int(of_rule[number]) for of_rule in targets], waiting, known_us)
            assert state.reported[0].x.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert state.reported[0].stretch.decisions == len(twin.rates) == 6


class Twin:
    """Features from lists, for a gate that SCReAM drives."""

    def __init__(self):
        self.due_us, self.since_us = 3_000_000, 0
        self.packets, self.all, self.rows, self.rates, self.leasts, self.compressed = [], [], [], [], [], []

    def learn(self, packets):
        self.packets += packets

    def features(self, targets, waiting, now_us):
        arrived = [one for one in self.packets if one.arrived_us >= 0]
        last = self.all[-1:]
        self.all += arrived
        delay = [(one.arrived_us - one.sent_us) / 1e3 for one in self.all]
        base = np.minimum.accumulate(delay)
        queue = (np.array(delay) - base)[-len(arrived) :]
        chain = last + arrived
        steps = np.abs(np.diff([one.arrived_us - one.sent_us for one in chain])) / 1e3
        gaps = np.diff([one.arrived_us for one in chain]) / 1e3
        seconds, self.since_us, n = (now_us - self.since_us) / 1e6, now_us, len(arrived)
        rate = math.log(8.0 * sum(one.size_bytes for one in arrived) / seconds)
        row = [
            queue.mean() / 20, queue.std() / 20, queue.min() / 20, queue.max() / 20, sum(steps) / n / 4,
            math.sqrt(np.square(gaps).sum() / n) / 10, max(gaps) / 100, 100 * (len(self.packets) - n) / len(self.packets),
            rate - math.log(targets[0]),
        ]  # fmt: skip
        before = np.mean(self.rows, axis=0) if self.rows else np.zeros(len(row))
        deviation = math.sqrt(self._variance())
        self.rows.append(row)
        self.rates.append(rate)
        self.leasts.append(queue.min())
        rtt = [(one.known_us - one.sent_us) / 1e3 for one in arrived]
        base_rtt = min((one.known_us - one.sent_us) / 1e3 for one in self.all)
        position = 2 * math.log(min(max(targets[0], 50e3), 4e6) / 50e3) / math.log(80) - 1
        least = min(self.leasts[-3:]) if len(self.leasts) >= 3 else 0.0
        found = [
            *row, *before, 3 * deviation, least / 20, base_rtt / 100, (min(rtt) - base_rtt) / 100,
            position, *(2 * math.log(one / targets[0]) for one in targets), 8000 * waiting / targets[0] / 20, 0.0, 0.0,
        ]  # fmt: skip
        self.packets = []
        self.compressed.append([one / math.sqrt(1 + abs(one)) for one in found])
        return [*self.compressed[-1], *np.mean(self.compressed, axis=0)[:-2]]

    def _variance(self):
        mean, variance = (self.rates or [0.0])[0], 0.0
        for number, rate in enumerate(self.rates[1:], 2):
            change = rate - mean
            mean, variance = mean + change / number, variance + (change * change - variance) / number
        return variance


@pytest.mark.parametrize("weights", [np.zeros((RULES, WIDTH)), np.full((RULES, WIDTH + 1), np.nan)], ids=["shape", "nan"])
def test_weights_of_another_gate_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights have shape \(3, \d+\): allowed is \(3, 57\), of finite numbers"):
        allocate(gate(weights), 1, 1)


def test_a_rule_of_another_control_is_refused():
    with pytest.raises(ValueError, match=r"scream = .*: allowed are rules that control rate"):
        allocate(gate(preferring(1.0, 0.0, 0.0))._replace(scream=LIMITS), 1, 1)
