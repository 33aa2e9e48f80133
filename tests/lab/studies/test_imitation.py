"""Imitation: a decision is corrected by the plan at the student's own state, and a student beats a router that never changes path."""

import gymnasium
import numpy as np
import pytest

from lab.studies.headroom.imitation import AHEAD, CHANGES, INTERVAL, corrected, imitate, stay
from lab.studies.oracles.seen import see
from lab.studies.oracles.sequences import best_sequence, costs
from vcgym.baselines.systems import load_system

WORLD = {"packets": 2000}


pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.long]


def always_change(observations):
    return np.tile([0.0, 1.0], (len(observations), 1))


def test_a_decision_is_corrected_by_the_plan_where_the_student_is():
    logged = corrected(always_change, 2, seed=5, **WORLD)
    env = gymnasium.make("vcgym/Relay-v0", action="relative", interval=INTERVAL, **WORLD).unwrapped.native
    observation, _ = env.reset(seed=6)  # the second call alone
    plan = best_sequence(costs(see(env.batch.scenario, env.batch.draws[0])), CHANGES)
    for decision in range(2000 // INTERVAL):
        np.testing.assert_array_equal(logged.observations[1, decision], observation[0])
        assert logged.actions[1, decision] == (env.slots.order[0, 1] == plan[min(decision * INTERVAL + AHEAD, 1999)])
        observation, reward, *_ = env.step(np.array([1]))
        assert logged.rewards[1, decision] == reward[0]
    assert 0.0 < logged.actions.mean() < 1.0


def test_a_student_beats_one_that_never_changes_path():
    playout = load_system("GRD+EWMAH-tuned").playout
    student = imitate(calls=40, turns=2, seed=0, playout=playout)
    gain = np.subtract(*(corrected(policy, 60, seed=10**7, playout=playout).ratings for policy in (student, stay)))
    assert gain.mean() > 1.96 * gain.std() / np.sqrt(60)
