"""Evolution strategies (Salimans et al. 2017, arXiv 1703.03864) train a lag of playout: from returns of whole calls alone, no gradient.

Candidates are the weights plus and minus a random direction; each plays the same calls. The weights move along the directions by the
differences of their returns, in units of their standard deviation.
"""

import numpy as np
import torch

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.controllers.arrival_features import WIDTH
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.inside.rollout import play, rollout
from vcgym.agents.inside.tasks import Training, task_of
from vcgym.agents.networks.two_layers import TwoLayers

DIRECTIONS, SD, STEP = 8, 0.05, 0.05


def main(rollouts: int = 50, calls: int = 8, worlds: int = 100, packets: int = 6000) -> None:
    """Train, and print the mean return of validation calls before and after.

    Args:
        rollouts: steps, each with 16 rollouts of the same calls.
        calls: calls of each rollout.
        worlds: training worlds, and as many of validation.
        packets: packets of a call, one per 10 ms.
    """
    torch.manual_seed(0)
    env = EnvConfig(id="vcgym/Playout-v1", options={"packets": packets, "reward": "impairment"})
    task = task_of(env, Training(calls, worlds))
    (validation,) = task.worlds("validation", worlds)
    network = TwoLayers(WIDTH, hidden=8, start=0.5)
    weights = torch.nn.utils.parameters_to_vector(network.parameters()).detach()

    def lag(candidate: torch.Tensor) -> LearnedLag:
        torch.nn.utils.vector_to_parameters(candidate, network.parameters())
        return LearnedLag(*network.arrays())

    def mean_return() -> float:
        return float(play(task, {"playout": lag(weights)}, validation, np.arange(worlds)).returned.mean())

    before = mean_return()
    for n in range(rollouts):
        directions, difference = torch.randn(DIRECTIONS, len(weights)), torch.zeros(DIRECTIONS)
        for i, sign in np.ndindex(DIRECTIONS, 2):
            candidate = weights + (1 - 2 * sign) * SD * directions[i]
            (played,) = rollout(task, {"playout": lag(candidate)}, replicas=1, draws=np.random.default_rng(n))
            difference[i] += (1 - 2 * sign) * played.returned.mean()
        weights = weights + STEP / DIRECTIONS * (difference / (difference.std() + 1e-8)) @ directions
    print(f"mean return of a validation call: {before:.6f} before, {mean_return():.6f} after {rollouts} steps")


if __name__ == "__main__":
    main()
