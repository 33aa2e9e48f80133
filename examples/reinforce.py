"""REINFORCE (Williams 1992) trains a lag of playout: a gradient step on what each decision earned more than those of another replica.

The compiled loop plays whole calls, draws the decisions and records them; torch updates the network between rollouts. Two replicas of each
world differ by their draws alone, so each is the baseline of the other.
"""

import numpy as np
import torch

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.controllers.arrival_features import WIDTH
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.inside.noise import Normal
from vcgym.agents.inside.rollout import play, rollout
from vcgym.agents.inside.tasks import Training, task_of
from vcgym.agents.inside.update import advantages
from vcgym.agents.networks.two_layers import TwoLayers

REPLICAS = 2
NOISE = Normal(sd=0.5, memory=0.9, innovations=True)  # lasts about 10 packets, as long as the player takes to follow


def main(rollouts: int = 200, calls: int = 8, worlds: int = 100, packets: int = 6000) -> None:
    """Train, and print the mean return of validation calls before and after.

    Args:
        rollouts: gradient steps.
        calls: calls of each rollout.
        worlds: training worlds, and as many of validation.
        packets: packets of a call, one per 10 ms.
    """
    torch.manual_seed(0)
    env = EnvConfig(id="vcgym/Playout-v1", options={"packets": packets, "reward": "impairment"})
    task = task_of(env, Training(calls, worlds))
    (validation,) = task.worlds("validation", worlds)
    network = TwoLayers(WIDTH, hidden=32, start=0.5)
    optimiser = torch.optim.Adam(network.parameters(), 2e-3)

    def mean_return() -> float:
        return float(play(task, {"playout": LearnedLag(*network.arrays())}, validation, np.arange(worlds)).returned.mean())

    before = mean_return()
    for n in range(rollouts):
        sampled = task.sampled(LearnedLag(*network.arrays()), NOISE, exploration=n)
        (played,) = rollout(task, {"playout": sampled}, REPLICAS, np.random.default_rng(n))
        advantage = advantages(played, discount=0.98, replicas=REPLICAS)
        decisions = [played.call(s, advantage) for s in range(calls)]
        x, action, _, weight = (torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*decisions, strict=True))
        log_prob = NOISE.log_prob(network.output(x), action, [len(one.x) for one in decisions])
        optimiser.zero_grad()
        (-weight * log_prob).mean().backward()
        optimiser.step()
    print(f"mean return of a validation call: {before:.6f} before, {mean_return():.6f} after {rollouts} rollouts")


if __name__ == "__main__":
    main()
