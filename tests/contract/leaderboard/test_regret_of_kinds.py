"""Regrets of an agent to the best tuned rule of each kind of worlds."""

import numpy as np
import pytest

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.bars import of_any_kind
from vcgym.network.scenarios.scenario import Scenario
from vcgym.scripts.regret import OfKind, compared, reference_of, summary


class Always:
    """Policy that takes one action."""

    reads = "features"

    def __init__(self, action):
        self.action = action

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.full(len(observation), self.action), state


def asked(**changed):
    return EvaluateConfig.model_construct(**({"split": "validation", "episodes": 5, "seed": 3} | changed))


def test_the_reference_of_a_kind_is_that_of_the_board_with_its_worlds():
    found = {kind: reference_of(kind) for kind in ("wonderproxy paper", "stress correlated", "table1 paper", "cloud correlated")}
    assert found == {
        "wonderproxy paper": "DRT-BFP-tuned", "stress correlated": "DRT-NEQ-tuned", "table1 paper": "DRT-QTL-tuned",
        "cloud correlated": of_any_kind(),
    }  # fmt: skip


def test_agent_and_rule_play_the_worlds_of_each_kind():
    env = EnvConfig(options={"scenario": ["table1", "stress"], "packets": 300})
    results = list(compared(Always(2), asked(), env))
    assert [one.kind for one in results] == ["table1 correlated", "stress correlated"]
    for one in results:
        scenario = Scenario(*one.kind.split(), 300)
        calls = TrainingCalls(scenario, [scenario.draw("validation", 3 + n) for n in range(5)])
        np.testing.assert_allclose(one.rule_r, calls.scores(*load_system(one.reference).chosen))
        assert one.cost is None and 0.0 < one.r.mean() < 94.0 and one.reference in one.line
    apart = [float(np.mean(one.rule_r - one.r)) for one in results]
    said = summary(results)
    assert f"mean {np.mean(apart):.2f} [" in said and f"worst {max(apart):.2f} ({results[int(np.argmax(apart))].kind})" in said


def test_few_training_worlds_are_those_of_the_rule_too():
    (one,) = compared(Always(2), asked(split="train"), EnvConfig(options={"packets": 200, "worlds": 2}))
    assert len(set(one.rule_r)) == 2 and one.rule_r[0] == one.rule_r[2] and one.r[0] == one.r[2]


def test_protection_is_compared_within_its_budget():
    options = {"packets": 300, "protection": None, "protection_budget": 0.05, "loss_run_slots": 3.0}
    (one,) = compared(Always(1), asked(), EnvConfig(options=options))  # a copy of each packet, as far as the budget goes
    assert one.reference == "COPY-HELD" and 0.0 < one.cost.max() <= 0.05 and one.rule_cost.max() <= 0.05
    assert "% more bytes" in one.line


def test_an_uplink_has_no_regret():
    assert list(compared(Always(0), asked(), EnvConfig(options={"uplink": "rate", "packets": 200}))) == []


@pytest.mark.parametrize("apart", [0.0, 1.5])
def test_the_worst_kind_is_named(apart):
    r = np.array([80.0, 82.0, 84.0])
    results = [OfKind("one paper", "A", r, r, None, None), OfKind("other paper", "B", r - apart, r, None, None)]
    assert f"worst {apart:.2f} ({'other' if apart else 'one'} paper)" in summary(results)
