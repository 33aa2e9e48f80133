"""A forecast in the observation: the predictor's output for the records, at its own index; nothing else changes."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode
from linear_forecast import Linear
from untrained import random_network

from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA, Record, path_history
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.envs.call.features.call import CALL_WIDTH
from vcgym.envs.call.features.path import PATH_WIDTH
from vcgym.predictors.predictor import predict_e2e

NETWORK = random_network(3)
HOLDERS = ["vcgym/Call-v1", "vcgym/Relay-v1"]


def made(env_id, predictor=NETWORK, **arguments):
    settings = {"num_envs": 2, "packets": 300, "feedback_loss": 0.1, "autoreset_mode": AutoresetMode.DISABLED, **arguments}
    return gymnasium.make_vec(env_id, **ABSOLUTE[env_id] | {"predictor": predictor} | settings).unwrapped


def split(observation, width):
    """Features of the paths (sessions, paths, width), and of the call."""
    return observation[:, :-CALL_WIDTH].reshape(len(observation), -1, width), observation[:, -CALL_WIDTH:]


@pytest.mark.parametrize("env_id", HOLDERS)
@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_a_forecast_stands_last_of_each_path_and_nothing_else_changes(env_id, mode):
    with_one, without = made(env_id, mode=mode), made(env_id, None, mode=mode)
    without.action_space.seed(1)
    seen, plain = with_one.reset(seed=5)[0], without.reset(seed=5)[0]
    over = np.zeros(2, bool)
    while not over.any():
        (paths, call), (plain_paths, plain_call) = split(seen, PATH_WIDTH + 1), split(plain, PATH_WIDTH)
        np.testing.assert_array_equal(paths[:, :, :-1], plain_paths)
        np.testing.assert_array_equal(call, plain_call)
        action = without.action_space.sample()
        seen, reward, _, over, _ = with_one.step(action)
        plain, plain_reward, *_ = without.step(action)
        np.testing.assert_array_equal(reward, plain_reward)


@pytest.mark.parametrize("env_id", HOLDERS)
@pytest.mark.parametrize("predictor", [NETWORK, pytest.param(Linear(0.5, 2.0, 30.0), marks=pytest.mark.long)], ids=["network", "linear"])
def test_it_is_what_the_predictor_says_of_the_records(env_id, predictor):
    """Worked out from the records alone, path by path, with a rule of its own for the lag."""
    shown, told = made(env_id, predictor), made(env_id, None, observation="records")
    told.action_space.seed(2)
    features, observation = shown.reset(seed=7)[0], told.reset(seed=7)[0]
    lag = allocate(WMJitter(), 2, 17)
    for s in range(2):
        init(WMJitter(), lag, s, path_history(observation["history"][s]), np.uint64(0))
    newest_ms, newest_us = observation["history"][:, :, 1].copy(), np.full((2, 17), -1)
    over = np.zeros(2, bool)
    while not over.any():
        for s in range(2):
            for row in observation["records"][s][: observation["count"][s]]:
                record = Record(*map(int, row))
                if record.sent_us >= newest_us[s, record.path]:
                    newest_us[s, record.path], newest_ms[s, record.path] = record.sent_us, (record.arrived_us - record.sent_us) * 0.001
                if record.kind == MEDIA:
                    update(WMJitter(), lag, s, record)
            lag_ms = decide(WMJitter(), lag, s, 0) / 1000.0
            expected = [predict_e2e(predictor, delay_ms, lag_ms) / 100.0 for delay_ms in newest_ms[s]]
            found = split(features, PATH_WIDTH + 1)[0][s, :, -1]
            np.testing.assert_allclose(found, np.clip(expected, 0.0, 20.0).astype(np.float32), rtol=1e-5)
        action = told.action_space.sample()
        features, _, _, over, _ = shown.step(action)
        observation = told.step(action)[0]


def test_one_session_begun_anew_leaves_the_others_alone():
    env = made("vcgym/Relay-v1", probe_rate=3.0)
    env.action_space.seed(4)
    env.reset(seed=2)
    for _ in range(12):
        before = env.step(env.action_space.sample())[0]
    after, _ = env.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(after[1], before[1])
    assert not np.array_equal(after[0], before[0])


def test_a_predictor_with_bad_values_is_refused():
    with pytest.raises(ValueError, match=r"Linear\.per_transmit is nan"):
        made("vcgym/Relay-v1", Linear(float("nan")))
