"""Conference satisfies the contracts of gymnasium and PettingZoo, observes only reports, and is deterministic given the seed."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from pettingzoo.test import parallel_api_test, parallel_seed_test
from stable_baselines3 import PPO

import vcgym.conference.env  # noqa: F401  (registers the id)
from vcgym.agents.sb3 import make_vec_env
from vcgym.conference.env.central import ConferenceEnv, ConferenceVectorEnv
from vcgym.conference.env.parallel import ParallelConference
from vcgym.conference.network.scenario import sample_conference
from vcgym.conference.network.trees import NO_PARENT, largest_trees

# Return, packets received, sum of their delays in us, bytes on links after 60 random decisions in world 7.
GOLDEN = {
    ("dumbbell", 4): (-183.63061544804987, 3050, 1143416470, 10686550),
    ("random", 6): (-313.5210825033695, 8773, 3871465204, 40153860),
}


@pytest.mark.long
def test_pettingzoo_takes_it():
    parallel_api_test(ParallelConference(seconds=6.0), num_cycles=40)
    parallel_seed_test(lambda: ParallelConference(seconds=6.0), num_cycles=15)


def test_gymnasium_takes_it():
    env = gymnasium.make("vcgym/Conference-v0", seconds=3.0)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    while not env.step(env.action_space.sample())[3]:
        pass
    with pytest.raises(ResetNeeded):
        env.unwrapped.step(env.action_space.sample())


def started(scenario, parties, seed, seconds=60.0):
    envs = ConferenceVectorEnv(1, scenario, parties, seconds)
    envs.reset(seed=seed)
    return envs, envs.batch.conferences[0]


@pytest.mark.parametrize(("scenario", "parties"), GOLDEN)
def test_a_golden_rollout(scenario, parties):
    """A change of dynamics shows here; if it is meant, the change log says why."""
    envs, session = started(scenario, parties, 7)
    random = np.random.default_rng(7)
    rewards = [envs.step(random.uniform(-0.5, 1.0, (1, parties**3)))[1][0] for _ in range(60)]
    received = session.net.received
    found = sum(rewards), received["packets"].sum(), received["delay_us"].sum(), session.net.links["bytes"].sum()
    assert found[0] == pytest.approx(GOLDEN[scenario, parties][0], rel=1e-9)
    assert found[1:] == GOLDEN[scenario, parties][1:]


def test_a_branch_returns_what_playing_it_returns():
    envs, random = ConferenceVectorEnv(2, seconds=4.5), np.random.default_rng(7)
    envs.reset(seed=7)
    before, *alternatives = random.uniform(-1.0, 1.0, (3, *envs.action_space.shape)).astype(np.float32)
    envs.step(before)
    returns = envs.branch(alternatives)
    assert not np.array_equal(*returns)
    for action, expected in zip(alternatives[::-1], returns[::-1], strict=True):
        played, truncated = np.zeros(2), np.zeros(2, bool)
        while not truncated.all():
            _, rewards, _, truncated, _ = envs.step(action)
            played += rewards
        np.testing.assert_array_equal(played, expected)
        envs.reset(seed=7)
        envs.step(before)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_equals_single_conferences_bit_for_bit(threads):
    """Random networks of differing numbers of links, over the ends of two conferences."""
    arguments = {"scenario": "random", "parties": 5, "seconds": 3.0}
    envs = ConferenceVectorEnv(3, **arguments, threads=threads, autoreset_mode=AutoresetMode.DISABLED)
    single = [ConferenceEnv(**arguments) for _ in range(3)]
    for episode in (8, 20):
        seen, _ = envs.reset(seed=episode)
        alone = [env.reset(seed=episode + i)[0] for i, env in enumerate(single)]
        truncated = np.zeros(3, bool)
        envs.action_space.seed(episode)
        while not truncated.all():
            assert seen.tobytes() == np.stack(alone).tobytes()
            action = envs.action_space.sample()
            seen, rewards, _, truncated, _ = envs.step(action)
            steps = [env.step(one) for env, one in zip(single, action, strict=True)]
            alone = [step[0] for step in steps]
            assert [step[1] for step in steps] == rewards.tolist()
            assert [step[3] for step in steps] == truncated.tolist()


@pytest.mark.long
def test_ppo_learns_on_the_batch():
    envs = make_vec_env("vcgym/Conference-v0", 4, seed=1, env_kwargs={"seconds": 3.0})
    model = PPO("MlpPolicy", envs, n_steps=16, batch_size=32, n_epochs=1, device="cpu").learn(64)
    assert model.num_timesteps == 64 and len(model.ep_info_buffer) > 0


def measured(session):
    """Sum of ln(rate + 10), and shares of late and of lost packets since the last decision, from the counters."""
    history = session.history
    row = history.decisions[0] % len(history.emitted)
    first, last = (row + 1) % len(history.emitted), row - 1
    gained = (history.packets[row] - history.packets[first]).astype(float)
    np.fill_diagonal(gained, np.inf)
    packets, late = ((counted[row] - counted[last]).sum(axis=1) for counted in (history.packets, history.late))
    due = (history.emitted[row] - history.emitted[last]) * (len(packets) - 1)
    lost = np.clip(1.0 - packets / np.maximum(due, 1), 0.0, 1.0)
    return np.log(gained.min(axis=1) * 1446 * 8e-3 / 1.5 + 10.0).sum(), (late / np.maximum(packets, 1)).sum() + lost.sum()


def test_rewards_add_up_to_the_gain_of_utility_less_prices():
    envs, session = started("dumbbell", 4, 1)
    (before, _), prices, total = measured(session), 0.0, 0.0
    for step in range(50):
        total += envs.step(np.full((1, 64), 0.02 * step))[1][0]
        prices += measured(session)[1]
    assert prices > 0.1
    assert total == pytest.approx(measured(session)[0] - before - prices)


def test_nothing_of_another_side_is_known_before_its_report():
    envs, session = started("dumbbell", 4, 1)
    session.net.links["down"][:] = 1
    for _ in range(6):
        seen = envs.step(np.zeros((1, 64)))[0]
    links = seen[0, : 6 * 16].reshape(6, 4, 4)
    assert (links[4][0, 1:] == 0.0).all()  # dead
    assert (links[5][1:, 0] > 1.0).all()  # reports age


@pytest.mark.parametrize(
    ("arguments", "named"), [(("dumbbell", 5), "parties = 5"), (("random", 2), "parties = 2"), (("ring", 4), "scenario = 'ring'")]
)
def test_a_scenario_that_is_not_there_is_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        sample_conference(arguments[0], 0, arguments[1], 60.0)


@pytest.mark.parametrize("make", [ConferenceEnv, ParallelConference])
def test_a_picture_shows_the_conference(make):
    env = make(scenario="random", parties=5, seconds=30.0, render_mode="rgb_array")
    env.reset(seed=3)
    before = env.render()
    for _ in range(20):
        env.native.step(np.full((1, 125), 0.2))
    assert env.render().shape == before.shape == (400, 720, 3) and (env.render() != before).any()
    session = env.native.batch.conferences[0]
    loads, trees = session.link_loads(), largest_trees(session.net)
    assert ((loads >= 0.0) & (loads < 1.5)).all() and loads.max() > 0.1
    assert all(tree[m] == NO_PARENT for m, tree in enumerate(trees)) and any((tree >= 0).any() for tree in trees)
    env.close()
    assert make(scenario="random", parties=5).render() is None
    with pytest.raises(ValueError, match="render_mode = 'ansi': allowed are rgb_array"):
        make(render_mode="ansi")
