"""Offline learning: what was logged is what was drawn and read again, estimates meet the truth, and a learner beats what it was shown."""

import minari
import numpy as np
import pytest
from gymnasium import spaces

from lab.studies.offline.calls import EpsilonSoft, Logged, choices_of, log_calls
from lab.studies.offline.estimate import estimate
from lab.studies.offline.learning import clone, weigh
from lab.studies.offline.minari_files import read_calls, write_calls

WORLD = {"action": "relative", "interval": 50, "reward": "impairment", "packets": 300}


pytestmark = pytest.mark.usefixtures("one_thread")


def bandit(n=1500, decisions=3):
    """Calls whose reward is 1 if the action, drawn with 0.7, 0.2 and 0.1, is the observed one, and else 0."""
    random, shares = np.random.default_rng(0), np.array([0.7, 0.2, 0.1])
    wanted = random.integers(3, size=(n, decisions + 1))
    actions = random.choice(3, size=(n, decisions), p=shares)
    rewards = (actions == wanted[:, :-1]).astype(float)
    return Logged(np.eye(3, dtype=np.float32)[wanted], actions, rewards, shares[actions], rewards.sum(axis=1))


def test_a_learner_beats_the_behaviour_and_the_estimate_meets_the_truth():
    logged = bandit()
    cloned, learned = clone(logged, 3, seed=0), weigh(logged, 3, seed=0, temperature=0.5, horizon=1)
    np.testing.assert_allclose(cloned(np.eye(3, dtype=np.float32)), np.tile([0.7, 0.2, 0.1], (3, 1)), atol=0.05)
    hits = np.diag(learned(np.eye(3, dtype=np.float32)))
    assert hits.min() > 0.7
    for policy in (cloned, learned):
        truth = 3.0 * np.diag(policy(np.eye(3, dtype=np.float32))).mean()
        found = estimate(logged, policy, seed=0)
        assert found.low <= truth <= found.high
        assert found.high - found.low < 0.4
    assert estimate(logged, cloned, seed=0).effective_calls > 0.9 * len(logged.actions)


def test_what_is_read_was_logged_with_the_probabilities_of_the_policy(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    behaviour = EpsilonSoft(epsilon=0.5)
    logged = log_calls(behaviour, 40, seed=3, **WORLD)
    write_calls("vcgym/call/test-v0", logged, **WORLD)
    for found, expected in zip(read_calls("vcgym/call/test-v0"), logged, strict=True):
        np.testing.assert_array_equal(found, expected)
    for decision in range(6):
        probabilities = behaviour(logged.observations[:, decision])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_array_equal(logged.propensities[:, decision], probabilities[np.arange(40), logged.actions[:, decision]])
    assert 0.3 < (logged.propensities > 0.5).mean() < 0.75  # half of the draws are the rule's, and a few of the others
    env = minari.load_dataset("vcgym/call/test-v0").recover_environment()
    first, _ = env.reset(seed=3)
    np.testing.assert_array_equal(logged.observations[0, 0], first)
    choices = np.unravel_index(logged.actions[0], choices_of(env.action_space))
    assert [env.step(action)[1] for action in np.stack(choices, axis=1)] == logged.rewards[0].tolist()


def test_actions_that_are_not_discrete_are_refused():
    with pytest.raises(ValueError, match="allowed: Discrete or MultiDiscrete"):
        choices_of(spaces.Box(0.0, 1.0, (1,)))
