"""Routers against numbers computed by hand, and the oracle."""

import math

import numpy as np
import pytest

from twins.session import Inside
from vcgym.baselines.path.best_history import BestHistory
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.random_path import RandomPath
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute.oracle import OracleVCRoute
from vcgym.baselines.path.vcroute.vcroute import Sample, VCRoute, draw_sd, update_posterior
from vcgym.baselines.path.via import Via, width
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.records import MEDIA, Record
from vcgym.baselines.rule import reveal_delay
from vcgym.envs.call.batch import CallBatch
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.scenario import Scenario

KEY = np.uint64(77)
HISTORY = np.array([[40, 105.0, 16.1], [40, 112.5, 24.2], [0, 0.0, 0.0], [40, 160.0, 3.0], [40, 119.0, 35.5]])


def decisions(params, count, history=HISTORY):
    rule = Inside(params, history, KEY)
    return [rule.decide(slot * 10_000) for slot in range(count)]


def test_direct_and_round_robin():
    assert decisions(Direct(), 4) == [0, 0, 0, 0]
    assert decisions(RoundRobin(), 7) == [0, 1, 2, 3, 4, 0, 1]


def test_random_path_is_even_and_a_function_of_key_and_slot():
    paths = decisions(RandomPath(), 5000)
    assert paths == decisions(RandomPath(), 5000)
    counts = np.bincount(paths, minlength=5)
    assert ((counts - 1000) ** 2 / 1000).sum() < 18.5  # chi-square, 4 degrees of freedom, 0.1 %


@pytest.mark.parametrize(
    ("history", "best"),
    [
        (HISTORY, 0),
        ([[5, 90.0, 1.0], [5, 80.0, 1.0], [5, 80.0, 1.0]], 1),
        ([[0, 0.0, 0.0], [1, 300.0, 0.0]], 1),
        ([[0, 0.0, 0.0], [0, 0.0, 0.0]], 0),
    ],
)
def test_best_history_is_the_lowest_known_mean(history, best):
    assert decisions(BestHistory(), 3, np.array(history)) == [best] * 3


@pytest.mark.parametrize(("ucb_c", "first", "second"), [(2.0, 0.1950, -0.2764), (0.1, 0.7424, 0.9475)])
def test_index_by_hand(ucb_c, first, second):
    """R5: of twelve tries, arm b is better at c = 2, arm a at c = 0.1."""
    assert 0.9 - width(1.0, 12, ucb_c) / math.sqrt(10) == pytest.approx(first, abs=5e-5)
    assert 1.3 - width(1.0, 12, ucb_c) / math.sqrt(2) == pytest.approx(second, abs=5e-5)


def test_via_at_full_epsilon_takes_any_path():
    history = HISTORY[[0, 1, 3, 4]]
    assert 2 not in decisions(Via(), 300, history)
    counts = np.bincount(decisions(Via(epsilon=1.0), 4000, history), minlength=4)
    assert ((counts - 1000) ** 2 / 1000).sum() < 16.3  # chi-square, 3 degrees of freedom, 0.1 %


def test_belief_by_hand():
    """R2: mean and precision after 200, 220, 210; R3: the order as printed gives other means and is not ours."""
    mu, tau, tau0, means, precisions = 0.0, 0.001, 1 / 400, [], []
    for x in (200.0, 220.0, 210.0):
        mu, tau = update_posterior(mu, tau, tau0, x)
        means.append(mu)
        precisions.append(tau)
    assert means == pytest.approx([142.857, 175.0, 185.294], abs=5e-4)
    assert precisions == pytest.approx([0.0035, 0.006, 0.0085])
    assert draw_sd(tau, tau0, Sample.MEAN) == pytest.approx(10.8465, abs=5e-5)
    assert draw_sd(tau, tau0, Sample.PREDICTIVE) == pytest.approx(22.7519, abs=5e-5)
    doubled, mu, tau = [], 0.0, 0.001
    for x in (200.0, 220.0, 210.0):  # the printed order: tau first, then used again inside mu
        tau += tau0
        mu = (tau * mu + tau0 * x) / (tau + tau0)
        doubled.append(mu)
    assert doubled == pytest.approx([83.33, 123.53, 143.18], abs=5e-3)
    assert means != pytest.approx(doubled, abs=10.0)


@pytest.mark.parametrize(("sd_ms", "samples"), [(10, 10), (20, 40), (30, 90), (100, 990)])
def test_samples_until_the_starting_belief_weighs_one_percent(sd_ms, samples):
    """R4: 10 samples at a standard deviation of 10 ms, 990 at 100 ms."""
    mu, tau, taken = 0.0, 0.001, 0
    while mu < 99.0 * (1 - 1e-12):
        mu, tau = update_posterior(mu, tau, 1 / sd_ms**2, 100.0)
        taken += 1
    assert taken == samples


def test_oracle_learns_the_true_delay_of_what_leaves_and_nothing_from_records():
    rule, silent = Inside(OracleVCRoute(loss_reward_ms=700.0), HISTORY, KEY), Inside(OracleVCRoute(), HISTORY, KEY)
    before = rule.state.arms.copy()
    for packet in range(20):
        rule.learn(Record(MEDIA, packet, 0, 10_000 * packet, 10_000 * packet + 90_000, 10_000 * packet + 180_000, 0, 0))
    assert (rule.state.arms == before).all()
    arm = rule.state.arms[0, 3]
    for delay_us, x_ms in ((123_000, 123.0), (LOST, 700.0)):
        mu, tau = update_posterior(arm.mu_ms, arm.tau, arm.tau0, x_ms)
        reveal_delay(rule.params, rule.state, 0, 3, delay_us)
        assert (arm.mu_ms, arm.tau) == (mu, tau)
    reveal_delay(silent.params, silent.state, 0, 3, LOST)
    assert silent.state.arms[0, 3].tau == 0.001


def test_an_oracle_cannot_act_through_observations():
    with pytest.raises(ValueError, match=r"OracleVCRoute\(.*has an oracle; allowed"):
        RulePolicy(OracleVCRoute())


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_oracle_inside_a_call_is_taught_by_the_world_itself():
    """Each path's belief is that of the true delays of the packets it carried, as the world's own table has them."""
    recipe = Scenario("wonderproxy", "paper", 500)  # less than one block, so that the table holds the whole call
    batch = CallBatch(recipe, 2, OracleVCRoute(route=VCRoute(topk=TopK(choice=Choice.BEST_FIVE))), FixedLag(60.0), log=True)
    for row in range(2):
        batch.start(row, recipe.draw("train", row))
    batch.play(np.arange(2))
    paths = batch.played().path
    for row in range(2):
        carried = batch.world.delay_us[row, paths[row], np.arange(500)]
        for path in range(recipe.paths):
            arm = batch.path_state.arms[row, path]
            true_ms = carried[(paths[row] == path) & (carried != LOST)] / 1000.0
            tau = 0.001 + true_ms.size * arm.tau0
            assert arm.tau == pytest.approx(tau)
            assert arm.mu_ms == pytest.approx(arm.tau0 * true_ms.sum() / tau)
        assert len(set(paths[row].tolist())) > 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("sample", "share", "spread", "changes"),
    [(Sample.MEAN, (0.998, 1.0), (0.98, 1.0), (3, 20)), (Sample.PREDICTIVE, (0.955, 0.966), (0.93, 0.985), (385, 435))],
)
def test_two_gaussian_arms(sample, share, spread, changes):
    """R9: arms N(150, 20^2) and N(200, 20^2), rewards fed back at once: 5,000 packets, 40 sessions."""
    sessions, packets = 40, 5000
    rng = np.random.default_rng(11)
    delays_us = np.rint(1000 * rng.normal([150.0, 200.0], 20.0, (packets, sessions, 2))).astype(np.int64)
    policy, state = RulePolicy(VCRoute(sample=sample)), None
    rows = np.arange(sessions)
    observation = {
        "records": np.zeros((sessions, 1, 8), np.int64),
        "count": np.zeros(sessions, np.int64),
        "history": np.tile([[2, 150.0, 20.0], [2, 200.0, 20.0]], (sessions, 1, 1)),
        "key": rows.astype(np.uint64),
        "slot": np.zeros(sessions, np.int64),
    }
    paths = np.empty((packets, sessions), np.int64)
    for k in range(packets):
        paths[k], state = policy.predict(observation, state, np.full(sessions, k == 0))
        sent_us = np.full(sessions, 10_000 * k)
        arrived_us = sent_us + delays_us[k, rows, paths[k]]
        columns = (np.zeros(sessions), sent_us // 10_000, paths[k], sent_us, arrived_us, arrived_us, np.zeros(sessions), np.zeros(sessions))
        observation["records"][:, 0] = np.stack(columns, axis=1)
        observation["count"][:] = 1
        observation["slot"][:] = k + 1
    better = (paths[-1000:] == 0).mean(axis=0)
    assert share[0] <= better.mean() <= share[1]
    assert spread[0] <= better.min() <= better.max() <= spread[1]
    assert changes[0] <= (np.diff(paths, axis=0) != 0).sum(axis=0).mean() <= changes[1]
