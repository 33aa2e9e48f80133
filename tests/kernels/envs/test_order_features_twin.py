"""The features of SendOrder equal their slow twin, recomputed from the queued packets and from those in reports."""

import math

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

from twins.sender_records import WITH_RECORDS
from vcgym.envs.call.features.queue import QUEUE_FEATURES
from vcgym.envs.call.features.sender import ORDER_FEATURES, RATE_FEATURES

ORDER = "vcgym/SendOrder-v1"
NAMES = [feature.name for feature in RATE_FEATURES]


def make(env_id, **arguments):
    arguments = ABSOLUTE[ORDER] | {"seconds": 12.0, "log_packets": 5000, "autoreset_mode": AutoresetMode.DISABLED} | arguments
    return gymnasium.make_vec(env_id, num_envs=1, **arguments).unwrapped


def of_place(item, now_us, way_us, waiting):
    created_us, expires_us, size_bytes, kind, _ = map(int, item)
    lasts_us = expires_us - created_us
    age, left = (now_us - created_us) / lasts_us, (expires_us - now_us) / lasts_us
    values = [1.0, kind, min(age, 20.0), max(left, -20.0), max(left - way_us / lasts_us, -20.0), size_bytes / 1000.0, float(waiting == 1)]
    return dict(zip((feature.name for feature in QUEUE_FEATURES), values, strict=True))


class Heard:
    """Queueing, from packets told of."""

    def __init__(self):
        self.told, self.queueing_us, self.floor_us, self.newest_sent_us = 0, 0.0, None, None

    def listen(self, log, reported):
        for packet in log[self.told : reported]:
            if packet["arrived_us"] >= 0:
                delay_us, sent_us = int(packet["arrived_us"] - packet["sent_us"]), int(packet["sent_us"])
                risen_us = math.inf if self.floor_us is None else self.floor_us + 5.0 * max(sent_us - self.newest_sent_us, 0) / 1000.0
                self.floor_us, self.newest_sent_us = min(risen_us, delay_us), sent_us
                self.queueing_us = self.queueing_us * 7 / 8 + (delay_us - self.floor_us) / 8
        self.told = reported


@pytest.mark.parametrize(("kind", "send_queue"), [("rtt80-q5", 5), ("rtt30-q32", None), ("loss5", 5)])
def test_order_features_equal_their_twin(kind, send_queue):
    shown, told = (make(env_id, send_queue=send_queue) for env_id in (ORDER, WITH_RECORDS[ORDER]))
    features, _ = shown.reset(seed=3, options={"kind": kind})
    observation, _ = told.reset(seed=3, options={"kind": kind})
    limit = 32 if send_queue is None else send_queue
    assert features.shape[1] == limit * len(QUEUE_FEATURES) + len(ORDER_FEATURES)
    heard, draws, seen_waiting = Heard(), np.random.default_rng(0), set()
    for _ in range(400):
        sender, log = told.batch.senders[0], told.log(0)
        heard.listen(log, int(sender.reported))
        rtt_us, now_us, waiting = int(observation["rtt_us"][0]), int(observation["now_us"][0]), int(observation["count"][0])
        seen_waiting.add(waiting)
        places = features[0, : limit * len(QUEUE_FEATURES)].reshape(limit, len(QUEUE_FEATURES))
        way_us = (rtt_us + heard.queueing_us) / 2.0
        for i in range(waiting):
            expected = of_place(observation["records"][0, i], now_us, way_us, waiting)
            np.testing.assert_allclose(places[i], list(expected.values()), rtol=1e-5, atol=1e-5, err_msg=str(expected))
        assert not places[waiting:].any()
        call = features[0, limit * len(QUEUE_FEATURES) :]
        assert call[NAMES.index("queueing_delay")] == pytest.approx(heard.queueing_us / 1e5, rel=1e-5, abs=1e-6)
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
    assert heard.told > 100
