"""The 150 numbers of the Bandwidth Estimation Challenge against a slow twin that reads the log of all packets."""

import gymnasium
import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.network.bottleneck.send_queue import AUDIO

LENGTHS_MS = [60.0] * 5 + [600.0] * 5


def twin(log, reported, report_us):
    """Rows (15, 10) from the packets that reports have told of."""
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
def test_what_an_interval_shows_is_what_arrived_in_it(kind):
    envs = gymnasium.make_vec(
        "vcgym/Rate-v1", num_envs=2, features="intervals", action="exact", interval=1, seconds=12.0, log_packets=1 << 15
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
            expected = twin(envs.log(row), int(sender["reported"]), report_us)
            np.testing.assert_allclose(shown[row].reshape(15, 10), expected, rtol=2e-4, atol=2e-3)
            lost = max(lost, expected[10].max())
    assert decisions > 100 and (lost > 0.0 or kind == "wifi")


def test_a_saved_state_goes_on_with_what_it_has_seen():
    form = {"features": "intervals", "action": "continuous", "interval": 1}
    envs, again = (gymnasium.make_vec("vcgym/Rate-v1", num_envs=1, seconds=4.0, **form).unwrapped for _ in range(2))
    envs.reset(seed=1)
    for _ in range(20):
        envs.step(np.zeros((1, 1), np.float32))
    again.reset(seed=2)
    again.set_state(envs.get_state())
    for _ in range(10):
        one, other = (env.step(np.full((1, 1), 0.5, np.float32))[0] for env in (envs, again))
        np.testing.assert_array_equal(one, other)


def test_other_features_are_refused():
    with pytest.raises(ValueError, match="features = 'pixels': allowed are reports, intervals"):
        gymnasium.make_vec("vcgym/Rate-v1", features="pixels")
