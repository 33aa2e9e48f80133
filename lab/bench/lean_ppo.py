"""PPO in one loop over a native batch, without a library: what remains of learning outside the loop if nothing is in its way.

Settings and steps are those of single-file implementations (Huang et al. 2022, "The 37 Implementation Details of Proximal Policy
Optimization"): two networks of 64 and 64 units, generalised advantages, normalised by minibatch, clipped policy and value.
"""

from typing import Any

import gymnasium
import torch
from torch.distributions import Categorical

import vcgym.envs  # noqa: F401  (registers the ids)

GAMMA, LAMBDA, CLIP, EPOCHS, MINIBATCHES = 0.99, 0.95, 0.2, 4, 4


class LeanPPO:
    """A training on one environment with one number as action.

    Args:
        env_id: id of the environment.
        num_envs: calls played at once.
        steps: decisions of each call in a rollout.
        options: arguments of the environment.
    """

    def __init__(self, env_id: str, num_envs: int, steps: int, **options: Any) -> None:
        self.envs, self.steps = gymnasium.make_vec(env_id, num_envs=num_envs, **options), steps
        torch.manual_seed(0)
        seen, _ = self.envs.reset(seed=0)
        space: Any = self.envs.unwrapped.single_action_space
        self.policy, self.critic = _network(seen.shape[1], int(space.n)), _network(seen.shape[1], 1)
        self.seen = torch.from_numpy(seen)
        self.parameters = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimiser = torch.optim.Adam(self.parameters, 2.5e-4, eps=1e-5)

    def learn(self) -> None:
        """Play one rollout, and learn from it."""
        seen, acted, log_prob, value, reward, ended = ([] for _ in range(6))
        with torch.no_grad():
            for _ in range(self.steps):
                chances = Categorical(logits=self.policy(self.seen))
                action = chances.sample()
                seen.append(self.seen)
                acted.append(action)
                log_prob.append(chances.log_prob(action))
                value.append(self.critic(self.seen)[:, 0])
                observed, gain, _, truncated, _ = self.envs.step(action.numpy())
                self.seen = torch.from_numpy(observed)
                reward.append(torch.from_numpy(gain).float())
                ended.append(torch.from_numpy(truncated))
            value.append(self.critic(self.seen)[:, 0])
        advantage = self._advantages(reward, value, ended)
        target = torch.stack(value[:-1]) + advantage
        self._improve(*(torch.cat(list(rows)) for rows in (seen, acted, log_prob, value[:-1], advantage, target)))

    def _advantages(self, reward: list[torch.Tensor], value: list[torch.Tensor], ended: list[torch.Tensor]) -> torch.Tensor:
        following, found = torch.zeros_like(value[0]), []
        for at in range(self.steps - 1, -1, -1):
            goes_on = (~ended[at]).float()
            following = reward[at] + GAMMA * value[at + 1] * goes_on - value[at] + GAMMA * LAMBDA * goes_on * following
            found.append(following)
        return torch.stack(found[::-1])

    def _improve(self, seen: Any, acted: Any, before: Any, value: Any, advantage: Any, target: Any) -> None:
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(seen)).tensor_split(MINIBATCHES):
                chances = Categorical(logits=self.policy(seen[rows]))
                ratio = torch.exp(chances.log_prob(acted[rows]) - before[rows])
                gain = (advantage[rows] - advantage[rows].mean()) / (advantage[rows].std() + 1e-8)
                of_policy = torch.max(-gain * ratio, -gain * ratio.clamp(1.0 - CLIP, 1.0 + CLIP)).mean()
                valued = self.critic(seen[rows])[:, 0]
                kept = value[rows] + (valued - value[rows]).clamp(-CLIP, CLIP)
                of_value = 0.5 * torch.max((valued - target[rows]) ** 2, (kept - target[rows]) ** 2).mean()
                loss = of_policy - 0.01 * chances.entropy().mean() + 0.5 * of_value
                self.optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.parameters, 0.5)
                self.optimiser.step()


def _network(width: int, outputs: int) -> torch.nn.Sequential:
    layers = [torch.nn.Linear(width, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, outputs)]
    return torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])
