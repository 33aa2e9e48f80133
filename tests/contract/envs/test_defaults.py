"""Defaults of the environments: one number or one Box as action, decisions that hold, and both equal to other forms in more words."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_sb3

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines.order.sbpn import Overflow, Sbpn
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.envs.call.rewards.on_time import Missed, OnTime
from vcgym.envs.call.sender.batch import SendingBatch, worlds_of
from vcgym.envs.environments.vector.actions import HEADROOMS_US
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO

FORMS = ["relative_discrete", "relative_continuous"]
SENDERS = ("vcgym/Rate-v1", "vcgym/SendOrder-v1")


def brief(env_id, decisions=15):
    """Arguments of a call of about so many decisions."""
    return {"seconds": 0.5 * decisions} if env_id in SENDERS else {"packets": 110 * decisions}


def make(env_id, sessions=3, **arguments):
    mode = arguments.pop("autoreset_mode", AutoresetMode.NEXT_STEP)
    return gymnasium.make_vec(env_id, num_envs=sessions, autoreset_mode=mode, **arguments).unwrapped


@pytest.mark.parametrize("form", FORMS)
def test_both_checkers_pass(env_id, form):
    env = gymnasium.make(env_id, action=form, **brief(env_id)).unwrapped
    check_env(env)
    check_env_sb3(env)
    assert isinstance(env.action_space, spaces.Discrete if form == "relative_discrete" else spaces.Box)


def test_observations_are_of_order_one_and_as_many_for_any_number_of_paths_or_packets(env_id):
    other = {"send_queue": 9} if env_id in SENDERS else {"scenario": "table1"}
    envs, others = make(env_id, **brief(env_id, 60)), make(env_id, **other)
    assert envs.single_observation_space == others.single_observation_space
    envs.reset(seed=4)
    envs.action_space.seed(4)
    seen = np.stack([envs.step(envs.action_space.sample())[0] for _ in range(60)])
    assert np.abs(seen).max() < 6.0
    assert np.quantile(np.abs(seen), 0.95) <= 2.0


def test_a_saved_state_goes_on(env_id):
    envs, same = make(env_id, **brief(env_id)), make(env_id, **brief(env_id))
    envs.reset(seed=7)
    envs.action_space.seed(7)
    for _ in range(9):
        envs.step(envs.action_space.sample())
    same.set_state(envs.get_state())
    for _ in range(9):
        action = envs.action_space.sample()
        for one, other in zip(envs.step(action)[:4], same.step(action)[:4], strict=True):
            np.testing.assert_array_equal(one, other)


def test_one_number_stands_for_path_and_headroom():
    joint, columns = make("vcgym/Call-v1", packets=1500), make("vcgym/Call-v1", packets=1500, action="relative")
    assert joint.single_action_space == spaces.Discrete(columns.single_action_space.nvec.prod())
    joint.reset(seed=5), columns.reset(seed=5)
    joint.action_space.seed(5)
    for _ in range(30):
        action = joint.action_space.sample()
        levels = len(HEADROOMS_US)
        for one, other in zip(joint.step(action)[:2], columns.step(np.stack([action // levels, action % levels], axis=1))[:2], strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_ends_of_a_box_are_the_ends_of_the_levels():
    box, columns = make("vcgym/Call-v1", packets=1500, action="relative_continuous"), make("vcgym/Call-v1", packets=1500, action="relative")
    box.reset(seed=5), columns.reset(seed=5)
    draws = np.random.default_rng(5)
    for _ in range(30):
        levels = draws.integers(2, size=(3, 2))
        expected = columns.step(levels * [1, len(HEADROOMS_US) - 1])
        for one, other in zip(box.step(np.where(levels, 1.0, -1.0).astype(np.float32))[:2], expected[:2], strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_decision_of_playout_holds_for_its_arrivals():
    held, each = make("vcgym/Playout-v1", 1, packets=600, interval=7), make("vcgym/Playout-v1", 1, packets=600, interval=1)
    held.reset(seed=2), each.reset(seed=2)
    held.action_space.seed(2)
    over = np.zeros(1, bool)
    while not over[0]:
        action, total = held.action_space.sample(), 0.0
        observation, reward, _, over, _ = held.step(action)
        for _ in range(7):
            expected, of_one, _, each_over, _ = each.step(action)
            total += of_one[0]
            if each_over[0]:
                break
        np.testing.assert_array_equal(observation, expected)
        assert (reward[0], over[0]) == (pytest.approx(total), each_over[0])


def test_a_decision_of_rate_holds_for_its_reports():
    held, each = make("vcgym/Rate-v1", 1, seconds=6.0), make("vcgym/Rate-v1", 1, seconds=6.0, interval=1)
    held.reset(seed=2), each.reset(seed=2)
    held.action_space.seed(2)
    over = np.zeros(1, bool)
    while not over[0]:
        action, total = held.action_space.sample(), 0.0
        observation, reward, _, over, _ = held.step(action)
        for _ in range(held.holds):
            expected, of_one, _, each_over, _ = each.step(action)
            total += of_one[0]
            if each_over[0]:
                break
        np.testing.assert_array_equal(observation, expected)
        assert (reward[0], over[0]) == (pytest.approx(total), each_over[0])


@pytest.mark.parametrize("make_one", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
def test_an_earlier_version_is_refused_and_the_error_names_the_id(env_id, make_one):
    with pytest.raises(gymnasium.error.DeprecatedEnv, match=f"Please use `{env_id}` instead"):
        make_one(env_id.replace("-v1", "-v0"))


def test_a_held_decision_shows_no_records():
    with pytest.raises(ValueError, match=r"interval = 10 with observation 'records': allowed is 1"):
        make("vcgym/Playout-v1", action="discrete", observation="records")
    with pytest.raises(ValueError, match=r"interval = 10 with action 'discrete': allowed is 1"):
        make("vcgym/SendOrder-v1", action="discrete")


def test_the_target_follows_the_aim():
    envs = make("vcgym/Rate-v1", 6, seconds=6.0, interval=1)
    envs.reset(seed=3)
    envs.action_space.seed(3)
    has_yielded = False
    for _ in range(50):
        senders, action = envs.batch.senders.copy(), envs.action_space.sample()
        envs.apply_actions(action, np.arange(6))
        for sender, level, answer in zip(senders, action, envs.batch.senders["answer_bps"].tolist(), strict=True):
            assert answer == pytest.approx(slow_target(sender, 12.0 * 5.0 ** (level / 7)))
            has_yielded |= answer < sender["target_bps"]
        envs.step(action)
    assert has_yielded


def slow_target(sender, aim_ms):
    """The target that follows from an aim, in plain Python."""
    stats, target = sender["stats"], float(sender["target_bps"])
    if stats["reports"] > 0 and stats["newest_us"] >= 0:
        queue_ms = (stats["newest_us"] - stats["floor_us"]) / 1000
        grown_ms = (stats["queueing_us"] - stats["before_us"]) / 1000 if stats["reports"] > 1 else 0.0
        if queue_ms > aim_ms and stats["reports"] > 1:
            target = min(target, stats["rate_bps"])
        lost = stats["lost"] / max(stats["packets"], 1)
        target *= np.exp(np.clip(0.075 * (1 - queue_ms / aim_ms) - 0.7 * grown_ms / aim_ms - 2 * lost, -0.25, 0.3))
    return np.clip(target, sender["min_bps"], sender["max_bps"])


@pytest.mark.long  # compiles a loop that no other quick test needs
@pytest.mark.parametrize("kind", ["rtt80-q5", "rtt150-q32"])
def test_the_first_order_is_sbpn2(kind):
    envs = make("vcgym/SendOrder-v1", 1, seconds=9.0)
    envs.reset(seed=6, options={"kind": kind})
    while not envs.step(np.zeros(1, np.int64))[3][0]:
        pass
    world, scenario = envs.batch.links[0], envs.scenario
    rules = SendingBatch(1, Tfrc(), Sbpn(overflow=Overflow.EVICTS), worlds_of(scenario), pacing=0.0)
    rules.start(0, world)
    rules.play(np.arange(1))
    for ours, theirs in zip(envs.batch.totals(), rules.totals(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_missed_is_what_on_time_lacks_of_a_perfect_call():
    missed, on_time = (make("vcgym/SendOrder-v1", 1, seconds=6.0, reward=reward) for reward in (Missed(), OnTime()))
    totals = []
    for envs in (missed, on_time):
        envs.reset(seed=8)
        envs.action_space.seed(8)
        total, over = np.zeros(1), np.zeros(1, bool)
        while not over[0]:
            _, reward, _, over, _ = envs.step(envs.action_space.sample())
            total += reward
        totals.append(total)
    created = missed.batch.totals().created
    np.testing.assert_allclose(totals[0], (totals[1] - created[:, AUDIO] - 0.25 * created[:, VIDEO]) / 10.0)
