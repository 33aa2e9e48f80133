"""A learned rule that is defined outside the package learns inside the loop, and is then played as it is ranked."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.controllers.policy import policy
from vcgym.agents.inside.noise import Normal
from vcgym.agents.inside.rollout import play, rollout
from vcgym.agents.inside.tasks import Training, task_of
from vcgym.agents.inside.update import advantages
from vcgym.agents.networks.two_layers import WeightedSum
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.baselines.systems import System

WIDTH, REPLICAS, NOISE = 2, 4, Normal(sd=0.5)


@record
class Seen:
    """State of a call."""

    least_us: int = 1 << 60  # smallest delay so far
    lag_us: int = 80_000


@policy
@rule(Control.PLAYOUT, learned=True, seen=Seen, x=Rows(np.float32, WIDTH))
class SpreadLag(NamedTuple):
    """A lag of 20 ms times a weighted sum: of 1, and of how far the newest delay lies above the smallest one, in 20 ms."""

    weights: NDArray[np.float32]  # (WIDTH,)

    def observe(self, seen, x, record):
        if record.kind != MEDIA:
            return False
        delay_us = record.arrived_us - record.sent_us
        seen.least_us = min(seen.least_us, delay_us)
        x[0], x[1] = 1.0, (delay_us - seen.least_us) / 20_000.0
        return True

    def output(self, seen, x):
        return self.weights[0] * x[0] + self.weights[1] * x[1]

    def act(self, seen, x, out, now_us):
        seen.lag_us = max(0, int(20_000.0 * out))

    def answer(self, seen, x):
        return seen.lag_us


@pytest.mark.long  # compiles two loops that no other test needs
def test_a_learned_rule_from_outside_learns_by_rollouts():
    env = EnvConfig(id="vcgym/Playout-v1", options={"packets": 400, "reward": "impairment"})
    task = task_of(env, Training(calls=8, worlds=4))
    torch.manual_seed(0)
    network = WeightedSum(WIDTH, start=20.0, speed=20.0)  # 400 ms, much too long
    optimiser = torch.optim.Adam(network.parameters(), 0.05)
    returns = []
    for n in range(12):
        sampled = task.sampled(SpreadLag(*network.arrays()), NOISE, exploration=n)
        (played,) = rollout(task, {"playout": sampled}, REPLICAS, np.random.default_rng(0))
        returns.append(played.returned.mean())
        advantage = advantages(played, discount=0.9, replicas=REPLICAS)
        calls = [played.call(s, advantage) for s in range(8)]
        x, action, drawn, weight = (torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*calls, strict=True))
        log_prob = NOISE.log_prob(network.output(x), action, [len(one.x) for one in calls])
        torch.testing.assert_close(log_prob, drawn, rtol=1e-4, atol=1e-3)
        optimiser.zero_grad()
        (-weight * log_prob).mean().backward()
        optimiser.step()
    assert returns[0] < returns[5] < returns[-1]

    ranked = SpreadLag(*network.arrays())
    assert System(**task.rules, playout=ranked).playout is ranked
    (worlds,) = task.training_worlds
    alone = play(task, {"playout": ranked}, worlds, np.arange(4))
    assert alone.returned.mean() > returns[0] and not alone.decided.any()
