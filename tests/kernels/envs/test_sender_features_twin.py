"""The features of Rate and SendOrder equal their slow twin, recomputed from the packets in reports and from those queued."""

import math

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS
from gymnasium.vector import AutoresetMode

from twins.sender_records import WITH_RECORDS
from vcgym.baselines.records import PacketFeedback
from vcgym.envs.call.features.sender import ORDER_FEATURES, QUEUE_FEATURES, RATE_FEATURES
from vcgym.network.bottleneck.send_queue import AUDIO

RATE, ORDER, _ = SENDERS
NAMES = [feature.name for feature in RATE_FEATURES]


def both(env_id, kind, **arguments):
    """The environment and the same with records: each with what it shows first."""
    settings = ABSOLUTE[env_id] | {"log_packets": 5000, "autoreset_mode": AutoresetMode.DISABLED} | arguments
    for name in (env_id, WITH_RECORDS[env_id]):
        env = gymnasium.make_vec(name, num_envs=1, **settings).unwrapped
        yield env, env.reset(seed=3, options={"kind": kind})[0]


class Queueing:
    """Delay above the running minimum, from the packets that have arrived, in order of sending."""

    def __init__(self):
        self.queueing_us, self.floor_us, self.newest_us, self.newest_sent_us = 0.0, math.inf, 0, 0

    def learn(self, sent_us, arrived_us):
        self.newest_us = arrived_us - sent_us
        risen_us = self.floor_us + 5.0 * max(sent_us - self.newest_sent_us, 0) / 1000.0
        self.floor_us, self.newest_sent_us = min(risen_us, self.newest_us), sent_us
        self.queueing_us = self.queueing_us * 7 / 8 + (self.newest_us - self.floor_us) / 8


def place(bps, low=50e3, high=4000e3):
    return 2.0 * math.log(min(max(bps, low), high) / low) / math.log(high / low) - 1.0


def test_rate_features_equal_their_twin():
    (shown, features), (told, observation) = both(RATE, "cubic", action="exact", seconds=8.0)
    draws, over, queue = np.random.default_rng(0), np.zeros(1, bool), Queueing()
    target, reports, smooth_bps, smooth_lost, rtt_us, before_us = 300e3, [], None, 0.0, 0.0, 0.0
    while not over[0]:
        fates = [PacketFeedback(*map(int, row)) for row in observation["records"][0, : observation["count"][0]]]
        if fates:
            if reports:
                bps, lost = reports[-1][1:]
                smooth_bps = bps if len(reports) == 1 else smooth_bps * 7 / 8 + bps / 8
                smooth_lost = lost if len(reports) == 1 else smooth_lost * 7 / 8 + lost / 8
            at_us, before_us = int(told.batch.senders[0].stats.report_us), queue.queueing_us
            arrived = [fate for fate in fates if fate.arrived_us >= 0]
            span_us = at_us - (reports[-1][0] if reports else 0)
            reports.append((at_us, sum(fate.size_bytes for fate in arrived) * 8e6 / span_us, 1.0 - len(arrived) / len(fates)))
            for fate in arrived:
                queue.learn(fate.sent_us, fate.arrived_us)
            if arrived:
                sample = min(fate.known_us - fate.sent_us for fate in arrived)
                rtt_us = sample if rtt_us == 0.0 else 0.9 * rtt_us + 0.1 * sample
        now_us = int(observation["now_us"][0])
        expected = [place(target)]
        if reports:
            newest_bps = reports[-1][1]
            delays_us = queue.queueing_us, queue.queueing_us - before_us, queue.newest_us - queue.floor_us, rtt_us
            expected += [place(newest_bps), place(smooth_bps if len(reports) > 1 else newest_bps), reports[-1][2], smooth_lost]
            expected += [*(delay_us / 1e5 for delay_us in delays_us), (now_us - reports[-1][0]) / 1e6, 1.0]
        else:
            expected += [-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 0.0]
        np.testing.assert_allclose(features[0, :11], expected, rtol=1e-5, atol=1e-6)
        assert features[0, 13] == pytest.approx(now_us / 8e6)
        target = float(draws.integers(100_000, 2_000_000))
        action = np.array([[int(target), 0, 0]])
        features, _, _, over, _ = shown.step(action)
        observation, *_ = told.step(action)
    assert len(reports) > 80


def of_place(item, now_us, way_us, waiting):
    created_us, expires_us, size_bytes, kind, _ = map(int, item)
    lasts_us = expires_us - created_us
    age, left = (now_us - created_us) / lasts_us, (expires_us - now_us) / lasts_us
    values = [1.0, kind, min(age, 20.0), max(left, -20.0), max(left - way_us / lasts_us, -20.0), size_bytes / 1000.0, float(waiting == 1)]
    return dict(zip((feature.name for feature in QUEUE_FEATURES), values, strict=True))


@pytest.mark.parametrize(("kind", "send_queue"), [("rtt80-q5", 5), ("rtt30-q32", None), ("loss5", 5)])
def test_order_features_equal_their_twin(kind, send_queue):
    (shown, features), (told, observation) = both(ORDER, kind, send_queue=send_queue, seconds=12.0)
    limit = 32 if send_queue is None else send_queue
    assert features.shape[1] == limit * len(QUEUE_FEATURES) + len(ORDER_FEATURES)
    queue, draws, seen_waiting, reported = Queueing(), np.random.default_rng(0), set(), 0
    for _ in range(400):
        sender, log = told.batch.senders[0], told.log(0)
        for packet in log[reported : int(sender.reported)]:
            if packet["arrived_us"] >= 0:
                queue.learn(int(packet["sent_us"]), int(packet["arrived_us"]))
        reported = int(sender.reported)
        rtt_us, now_us, waiting = int(observation["rtt_us"][0]), int(observation["now_us"][0]), int(observation["count"][0])
        seen_waiting.add(waiting)
        places = features[0, : limit * len(QUEUE_FEATURES)].reshape(limit, len(QUEUE_FEATURES))
        way_us = (rtt_us + queue.queueing_us) / 2.0
        for i in range(waiting):
            expected = of_place(observation["records"][0, i], now_us, way_us, waiting)
            np.testing.assert_allclose(places[i], list(expected.values()), rtol=1e-5, atol=1e-5, err_msg=str(expected))
        assert not places[waiting:].any()
        call = features[0, limit * len(QUEUE_FEATURES) :]
        assert call[NAMES.index("queueing_delay")] == pytest.approx(queue.queueing_us / 1e5, rel=1e-5, abs=1e-6)
        assert call[NAMES.index("rtt")] == pytest.approx(rtt_us / 1e5, abs=1.1e-5)
        oldest = observation["records"][0, 0]
        assert call[NAMES.index("oldest_age")] == pytest.approx((now_us - oldest[0]) / (oldest[1] - oldest[0]), rel=1e-5, abs=1e-6)
        queued_bits = 8 * int(observation["records"][0, :waiting, 2].sum())
        assert call[NAMES.index("waiting")] == pytest.approx(min(10.0 * queued_bits / float(sender.target_bps), 20.0), rel=1e-5)
        since_us = now_us - int(log["sent_us"][-1]) if len(log) else now_us
        assert call[len(NAMES)] == pytest.approx(since_us / 1e5, rel=1e-5, abs=1e-6)
        assert call[len(NAMES) + 1] == pytest.approx(waiting / int(sender.queue.limit), rel=1e-6)
        place = int(draws.integers(waiting))
        action = np.array([place + limit * int(draws.random() < 0.1)])
        features, _, _, over, _ = shown.step(action)
        observation, *_ = told.step(action)
        assert not over[0]
    assert len(seen_waiting) >= 3
    assert reported > 100


LENGTHS_MS = [60.0] * 5 + [600.0] * 5


def intervals(log, reported, report_us):
    """The 150 numbers of the Bandwidth Estimation Challenge, (15, 10), from the log of the packets in reports."""
    told = log[:reported]
    there = told[told["arrived_us"] >= 0]
    assert (there["arrived_us"] <= report_us).all()
    at_ms, delay_ms = there["arrived_us"] / 1e3, (there["arrived_us"] - there["sent_us"]) / 1e3
    gap_ms = np.diff(at_ms, prepend=np.nan)
    lost_before = np.diff(np.flatnonzero(told["arrived_us"] >= 0), prepend=-1) - 1
    shown = np.zeros((15, 10))
    for i, length_ms in enumerate(LENGTHS_MS):
        to_ms = report_us / 1e3 - (i % 5) * length_ms
        here = (to_ms - length_ms < at_ms) & (at_ms <= to_ms)
        if here.any():
            sizes, delays, gaps, lost = there["size_bytes"][here], delay_ms[here], gap_ms[here], lost_before[here]
            gaps, audio = gaps[~np.isnan(gaps)], (there["kind"][here] == AUDIO).mean()
            shown[:, i] = [
                8e3 * sizes.sum() / length_ms, here.sum(), sizes.sum(), delays.mean() - delay_ms.min(), delays.mean() - 200.0,
                delay_ms.min(), delays.mean() / delays.min(), delays.mean() - delays.min(), gaps.mean() if len(gaps) else 0.0,
                gaps.std() if len(gaps) else 0.0, lost.sum() / (lost.sum() + here.sum()), lost.sum() / max((lost > 0).sum(), 1),
                1.0 - audio, audio, 0.0,
            ]  # fmt: skip
    return shown


@pytest.mark.parametrize("kind", ["steps", "cubic", "wifi"])
def test_intervals_equal_their_twin(kind):
    envs = gymnasium.make_vec(
        RATE, num_envs=2, features="intervals", action="exact", interval=1, seconds=12.0, log_packets=1 << 15
    ).unwrapped
    shown, _ = envs.reset(seed=3, options={"kind": kind})
    assert shown.shape == (2, 150) and not shown.any()  # nothing has arrived
    rates, lost, decisions = np.random.default_rng(0), 0.0, 0
    while True:
        shown, *_, truncated, _ = envs.step(np.array([[rates.integers(100_000, 4_000_000), 0, 0]] * 2))
        if truncated.any():
            break
        decisions += 1
        for row in range(2):
            sender = envs.batch.senders[row]
            report_us = int(sender["stats"]["report_us"])
            assert report_us % 60_000 == 0
            expected = intervals(envs.log(row), int(sender["reported"]), report_us)
            np.testing.assert_allclose(shown[row].reshape(15, 10), expected, rtol=2e-4, atol=2e-3)
            lost = max(lost, expected[10].max())
    assert decisions > 100 and (lost > 0.0 or kind == "wifi")
