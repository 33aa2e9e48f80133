"""Conference satisfies the contracts of gymnasium and PettingZoo, observes only reports, and is deterministic given the seed."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

import vcgym.envs.conference  # noqa: F401  (registers the id)
from vcgym.baselines.conference.trees import NO_PARENT
from vcgym.envs.conference.central import ConferenceEnv
from vcgym.envs.conference.parallel import ParallelConference
from vcgym.envs.conference.session import ConferenceSession
from vcgym.network.scenarios.conference import draw_conference

# Return, packets heard, sum of their delays in us, bytes on links after 60 random decisions in world 7.
GOLDEN = {
    ("dumbbell", 4): (-183.63061544804987, 3050, 1143416470, 10686550),
    ("random", 6): (-313.5210825033695, 8773, 3871465204, 40153860),
}


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


def rollout(scenario, parties, seed, decisions=60):
    session = ConferenceSession(scenario, parties, 60.0)
    session.start(seed)
    random = np.random.default_rng(seed)
    return session, [session.step(random.uniform(-0.5, 1.0, (parties,) * 3)) for _ in range(decisions)]


@pytest.mark.parametrize(("scenario", "parties"), [("dumbbell", 4), ("random", 3), ("random", 12)])
def test_a_rollout_is_the_one_of_its_seed(scenario, parties):
    (one, rewards), (again, same), (_, other) = (rollout(scenario, parties, seed, 20) for seed in (5, 5, 6))
    assert rewards == same
    assert rewards != other
    assert all((one.observe(m) == again.observe(m)).all() for m in range(parties))


@pytest.mark.parametrize(("scenario", "parties"), GOLDEN)
def test_a_golden_rollout(scenario, parties):
    """A change of dynamics shows here; if it is meant, the change log says why."""
    session, rewards = rollout(scenario, parties, 7)
    heard = session.net.heard
    found = sum(rewards), heard["packets"].sum(), heard["delay_us"].sum(), session.net.links["bytes"].sum()
    assert found[0] == pytest.approx(GOLDEN[scenario, parties][0], rel=1e-9)
    assert found[1:] == GOLDEN[scenario, parties][1:]


def test_rewards_add_up_to_the_gain_of_utility_less_prices():
    session = ConferenceSession("dumbbell", 4, 60.0)
    session.start(1)
    before, prices, total = session.utility(), 0.0, 0.0
    for _ in range(50):
        total += session.step(np.zeros((4, 4, 4)))
        late, lost = session._shares()
        prices += late.sum() + lost.sum()
    assert total == pytest.approx(session.utility() - before - prices)


def test_an_agent_that_asks_for_more_gets_more_until_the_network_is_full():
    session = ConferenceSession("dumbbell", 4, 60.0)
    session.start(1)
    direct = np.zeros((4, 4, 4))
    for m in range(4):
        direct[m, m, :] = 0.2
    early = session.session_kbps().sum()
    for _ in range(20):
        session.step(direct)
    assert session.session_kbps().sum() > early + 100.0
    for _ in range(100):
        session.step(5.0 * direct)
    assert session.net.links["dropped"].sum() > 0


def test_nothing_of_another_side_is_known_before_its_report():
    session = ConferenceSession("dumbbell", 4, 60.0)
    session.start(1)
    session.net.links["down"][:] = 1
    for _ in range(6):
        session.step(np.zeros((4, 4, 4)))
    links = session.observe(0)[: 6 * 16].reshape(6, 4, 4)
    assert (links[4][0, 1:] == 0.0).all()  # dead
    assert (links[5][1:, 0] > 1.0).all()  # reports age


@pytest.mark.parametrize(
    ("arguments", "named"), [(("dumbbell", 5), "parties = 5"), (("random", 2), "parties = 2"), (("ring", 4), "scenario = 'ring'")]
)
def test_a_scenario_that_is_not_there_is_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        draw_conference(arguments[0], 0, arguments[1], 60.0)


@pytest.mark.parametrize("make", [ConferenceEnv, ParallelConference])
def test_a_picture_shows_the_conference(make):
    env = make("random", 5, seconds=30.0, render_mode="rgb_array")
    env.reset(seed=3)
    before = env.render()
    for _ in range(20):
        env.session.step(np.full((5, 5, 5), 0.2))
    assert env.render().shape == before.shape == (400, 720, 3) and (env.render() != before).any()
    loads, trees = env.session.link_loads(), env.session.largest_trees()
    assert ((loads >= 0.0) & (loads < 1.5)).all() and loads.max() > 0.1
    assert all(tree[m] == NO_PARENT for m, tree in enumerate(trees)) and any((tree >= 0).any() for tree in trees)
    env.close()
    assert make("random", 5).render() is None
    with pytest.raises(ValueError, match="render_mode = 'ansi': allowed are rgb_array"):
        make(render_mode="ansi")
