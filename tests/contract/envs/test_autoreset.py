"""The three autoreset modes step by step, compared with scalar calls that are reset by hand."""

import gymnasium
import numpy as np
import pytest
from absolute import BY_PARTS
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.network.kernels import rng

SEEDS = [5, 6, 7]
STEPS = 40


class ByHand:
    """One session: the worlds a seed leads to, one after the other, each in a scalar environment."""

    def __init__(self, env_id, seed, **arguments):
        self.env = gymnasium.make(env_id, **arguments).unwrapped
        self.seed, self.episode = seed, 0

    def begin(self):
        world = self.seed if self.episode == 0 else int(rng.stream_key(np.uint64(self.seed), self.episode, rng.SCENARIO))
        self.episode += 1
        return self.env.reset(seed=world)

    def step(self, action):
        observation, reward, _, over, info = self.env.step(action)
        return observation, reward, over, info


def _setup(env_id, mode, shortest):
    env = gymnasium.make_vec(env_id, num_envs=len(SEEDS), autoreset_mode=mode, **shortest).unwrapped
    hands = [ByHand(env_id, seed, **shortest) for seed in SEEDS]
    observations, infos = env.reset(seed=SEEDS[0])
    for row, hand in enumerate(hands):
        _begins(hand, observations, infos, row)
        assert infos["seed"][row] == SEEDS[row]
    env.action_space.seed(2)
    return env, hands


def _begins(hand, observations, infos, row):
    """The session begins the same call as `hand`, and infos name its world."""
    expected, world = hand.begin()
    np.testing.assert_array_equal(observations[row], expected)
    assert {"seed"} < set(world) <= {"seed", "pair", "stratum", "kind"}
    assert all(infos[name][row] == value and infos[f"_{name}"][row] for name, value in world.items())


def _ends(ends, together):
    """Sessions that decide on time end together, others at different steps; every session has ended more than once."""
    assert all(len(of_row) >= 2 for of_row in ends)
    assert (len(set(map(tuple, ends))) == 1) == together


def test_next_step(env_id, shortest, decides_on_time):
    env, hands = _setup(env_id, AutoresetMode.NEXT_STEP, shortest)
    over, ends = np.zeros(3, bool), [[], [], []]
    for step in range(STEPS):
        actions = env.action_space.sample()
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert not terminated.any()
        assert ("rating" in infos) == truncated.any()
        for row, hand in enumerate(hands):
            if over[row]:  # the action is ignored, a new call begins
                _begins(hand, observations, infos, row)
                assert rewards[row] == 0.0 and not truncated[row]
                over[row] = False
                continue
            expected, reward, over[row], info = hand.step(actions[row])
            np.testing.assert_array_equal(observations[row], expected)
            assert (rewards[row], truncated[row]) == (reward, over[row])
            if over[row]:
                ends[row].append(step)
                assert all(infos[name][row] == value and infos[f"_{name}"][row] for name, value in info.items())
            elif truncated.any():
                assert not infos["_rating"][row]
    _ends(ends, decides_on_time)


def test_same_step(env_id, shortest, decides_on_time):
    env, hands = _setup(env_id, AutoresetMode.SAME_STEP, shortest)
    ends, kept = [[], [], []], []
    for step in range(STEPS):
        actions = env.action_space.sample()
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert not terminated.any()
        assert {"final_obs", "_final_obs", "final_info", "_final_info", "seed", "_seed"} <= set(infos) if truncated.any() else not infos
        for row, hand in enumerate(hands):
            expected, reward, over, info = hand.step(actions[row])
            assert (rewards[row], truncated[row]) == (reward, over)
            if over:
                ends[row].append(step)
                np.testing.assert_array_equal(infos["final_obs"][row], expected)
                kept.append((infos["final_obs"][row], expected))
                assert infos["_final_obs"][row] and infos["_final_info"][row]
                assert all(infos["final_info"][name][row] == value for name, value in info.items())
                _begins(hand, observations, infos, row)
                continue
            if truncated.any():
                assert infos["final_obs"][row] is None and not infos["_final_obs"][row] and not infos["_final_info"][row]
            np.testing.assert_array_equal(observations[row], expected)
        observations[:] = np.nan  # what was handed out is a copy
    for final, expected in kept:  # and so is each final observation: no later step wrote into it
        np.testing.assert_array_equal(final, expected)
    _ends(ends, decides_on_time)


def test_disabled(env_id, shortest, decides_on_time):
    env, hands = _setup(env_id, AutoresetMode.DISABLED, shortest)
    ends = [[], [], []]
    for step in range(STEPS):
        actions = env.action_space.sample()
        observations, rewards, terminated, truncated, _ = env.step(actions)
        assert not terminated.any()
        last = []
        for row, hand in enumerate(hands):
            expected, reward, over, _ = hand.step(actions[row])
            np.testing.assert_array_equal(observations[row], expected)
            assert (rewards[row], truncated[row]) == (reward, over)
            last.append(expected)
        if not truncated.any():
            continue
        with pytest.raises(ResetNeeded, match=str(np.flatnonzero(truncated).tolist()).replace("[", r"\[").replace("]", r"\]")):
            env.step(actions)
        for row in np.flatnonzero(truncated):
            ends[row].append(step)
            hands[row].episode = 0
            last[row] = hands[row].begin()[0]
        seeds = [seed if over else None for seed, over in zip(SEEDS, truncated, strict=True)]
        observations, _ = env.reset(seed=seeds, options={"reset_mask": truncated})
        np.testing.assert_array_equal(observations, last)  # the others stand where they stood
    _ends(ends, decides_on_time)


@pytest.mark.parametrize("by_parts", [False, True], ids=["features", "parts"])
def test_a_masked_reset_leaves_the_other_sessions_alone(env_id, short, by_parts):
    observation = BY_PARTS[env_id] if by_parts else "features"
    arguments = {"num_envs": 2, "observation": observation, "autoreset_mode": AutoresetMode.DISABLED, **short}
    disturbed, quiet = (gymnasium.make_vec(env_id, **arguments).unwrapped for _ in range(2))
    disturbed.reset(seed=1)
    quiet.reset(seed=1)
    quiet.action_space.seed(0)
    for _ in range(5):
        actions = quiet.action_space.sample()
        shown, *_ = disturbed.step(actions)
        expected, *_ = quiet.step(actions)
        again, _ = disturbed.reset(options={"reset_mask": np.array([True, False])})
        for part in shown if by_parts else (...,):
            np.testing.assert_array_equal(shown[part][1], expected[part][1])
            np.testing.assert_array_equal(again[part][1], expected[part][1])


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_mode_goes_by_any_of_its_names(mode):
    for name in (mode, mode.name, mode.value):
        assert gymnasium.make_vec("vcgym/Relay-v1", autoreset_mode=name).metadata["autoreset_mode"] is mode


def test_a_call_may_be_cut_off_after_some_decisions(env_id, short):
    batch = gymnasium.make_vec(env_id, num_envs=2, max_episode_steps=3, autoreset_mode="SAME_STEP", **short)
    alone = gymnasium.make(env_id, max_episode_steps=3, **short)
    batch.reset(seed=4)
    alone.reset(seed=4)
    for step in range(3):
        actions = batch.action_space.sample()
        observations, rewards, _, truncated, infos = batch.step(actions)
        expected, reward, _, over, _ = alone.step(actions[0])
        assert (rewards[0], truncated[0], over) == (reward, over, step == 2)
        np.testing.assert_array_equal(infos["final_obs"][0] if over else observations[0], expected)
    assert not batch.step(batch.action_space.sample())[3].any()  # the next call has three of its own


def test_stepping_needs_a_reset():
    env = gymnasium.make_vec("vcgym/Call-v1", num_envs=2, packets=60).unwrapped
    with pytest.raises(ResetNeeded, match=r"\[0, 1\]"):
        env.step(env.action_space.sample())
    env.reset(seed=0, options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"\[1\]"):
        env.step(env.action_space.sample())
