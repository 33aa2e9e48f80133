"""PPO (Schulman et al. 2017, arXiv 1707.06347) trains a lag of playout: clipped steps over minibatches of what was played.

The compiled loop plays whole calls, draws the decisions and records them; torch updates the network between rollouts. Two replicas of each
world differ by their draws alone, so each is the baseline of the other, and no critic is needed.
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

REPLICAS, EPOCHS, MINIBATCH, CLIP = 2, 2, 4096, 0.2
NOISE = Normal(sd=0.5, memory=0.9)  # lasts about 10 packets, as long as the player takes to follow


def main(rollouts: int = 50, calls: int = 8, worlds: int = 100, packets: int = 6000) -> None:
    """Train, and print the mean return of validation calls before and after.

    Args:
        rollouts: rollouts, each with two passes over its decisions.
        calls: calls of each rollout.
        worlds: training worlds, and as many of validation.
        packets: packets of a call, one per 10 ms.
    """
    torch.manual_seed(0)
    env = EnvConfig(id="vcgym/Playout-v1", options={"packets": packets, "reward": "impairment"})
    task = task_of(env, Training(calls, worlds))
    (validation,) = task.worlds("validation", worlds)
    network = TwoLayers(WIDTH, hidden=32, start=0.5)
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)

    def mean_return() -> float:
        return float(play(task, {"playout": LearnedLag(*network.arrays())}, validation, np.arange(worlds)).returned.mean())

    before = mean_return()
    for n in range(rollouts):
        sampled = task.sampled(LearnedLag(*network.arrays()), NOISE, exploration=n)
        (played,) = rollout(task, {"playout": sampled}, REPLICAS, np.random.default_rng(n))
        advantage = advantages(played, discount=0.98, replicas=REPLICAS)
        decisions = [played.call(s, advantage) for s in range(calls)]
        recorded = [torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*decisions, strict=True)]
        for _ in range(EPOCHS):
            for some in torch.randperm(len(recorded[0])).split(MINIBATCH):
                x, action, old, weight = (array[some] for array in recorded)
                ratio = torch.exp(NOISE.log_prob(network.output(x), action, [len(x)]) - old)
                loss = -torch.minimum(ratio * weight, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * weight).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    print(f"mean return of a validation call: {before:.6f} before, {mean_return():.6f} after {rollouts} rollouts")


if __name__ == "__main__":
    main()
