"""Learners from a set of decisions: behaviour cloning, and implicit Q-learning (Kostrikov et al. 2021, arXiv 2110.06169) of TorchRL.

Cloning maximises the probability of the logged actions. Implicit Q-learning weighs them by exp(temperature * advantage), at most 100; the
value is an expectile of Q over the logged actions, so no action is judged that the set does not have. Rewards are divided by the standard
deviation of the discounted returns, which makes the temperature a number without a unit. Calls end by truncation: values go on there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vcgym.agents.config.algorithms import OfflineConfig
from vcgym.agents.networks.description import SetNetwork
from vcgym.agents.networks.set_net import SetNet
from vcgym.agents.offline.recorded import Transitions


class OfflineLearner:
    """The policy of one training, what it learns with, and the optimiser.

    Attributes:
        policy: network from features to one output per action.
        updates: steps of the gradient so far; they decide the batches, with the seed.

    Args:
        network: description of the policy, without items.
        settings: of the algorithm.
        logged: the set.
        seed: seed of weights and batches.
    """

    def __init__(self, network: SetNetwork, settings: OfflineConfig, logged: Transitions, seed: int) -> None:
        torch.manual_seed(seed)
        self.settings, self.seed, self.updates = settings, seed, 0
        self.policy = SetNet(network, 0)
        rewards = logged.rewards / (_returns(logged, settings.gamma).std() + 1e-9)
        self._logged = [torch.from_numpy(column) for column in logged._replace(rewards=rewards.astype(np.float32))]
        self.losses: nn.Module = self.policy
        self._after: Callable[[], Any] = lambda: None
        if settings.name == "IQL":
            self.losses, self._after = _implicit(self.policy, settings)
        self.optimiser = torch.optim.Adam(self.losses.parameters(), settings.learning_rate)

    def train_step(self) -> dict[str, float]:
        """Improve the networks on one batch; return the loss."""
        draws = np.random.default_rng([self.seed, self.updates])
        rows = torch.from_numpy(draws.integers(len(self._logged[0]), size=self.settings.batch_size))
        seen, actions, rewards, after, last = (column[rows] for column in self._logged)
        if self.settings.name == "IQL":
            *parts, _ = self.losses(
                observation=seen, action=actions, next_observation=after, next_reward=rewards[:, None], next_done=last[:, None],
                next_terminated=torch.zeros_like(last)[:, None],
            )  # fmt: skip
            loss = torch.stack(parts).sum()
        else:
            loss = nn.functional.cross_entropy(self.policy(seen), actions)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self._after()
        self.updates += 1
        return {"train/loss": loss.item()}

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return the weights of the policy by name."""
        return {name: tensor.numpy().copy() for name, tensor in self.policy.state_dict().items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state of the training, as torch does of a network."""
        return {"updates": self.updates, "losses": self.losses.state_dict(), "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take a state of `state_dict` over."""
        self.updates = state["updates"]
        self.losses.load_state_dict(state["losses"])
        self.optimiser.load_state_dict(state["optimiser"])


def _returns(logged: Transitions, gamma: float) -> NDArray[np.float64]:
    """Return the discounted sum of the rewards of a call from each decision on."""
    found, after = np.zeros(len(logged.rewards)), 0.0
    for number in range(len(found) - 1, -1, -1):
        after = float(logged.rewards[number]) + (0.0 if logged.last[number] else gamma * after)
        found[number] = after
    return found


def _implicit(policy: nn.Module, settings: OfflineConfig) -> tuple[nn.Module, Callable[[], Any]]:
    """Return the losses of implicit Q-learning and what moves the target of Q after each step."""
    from tensordict.nn import TensorDictModule
    from torchrl.modules import ProbabilisticActor
    from torchrl.objectives import DiscreteIQLLoss, SoftUpdate, ValueEstimators

    network = policy.network
    assert isinstance(network, SetNetwork)
    reads = ["observation"]
    actor = ProbabilisticActor(TensorDictModule(policy, reads, ["logits"]), ["logits"], distribution_class=torch.distributions.Categorical)
    q, value = (_layers(network.context, settings.hidden, outputs) for outputs in (network.output_count(0), 1))
    losses = DiscreteIQLLoss(
        actor,
        TensorDictModule(q, reads, ["state_action_value"]),
        TensorDictModule(value, reads, ["state_value"]),
        action_space="categorical",
        loss_function="l2",
        temperature=settings.temperature,
        expectile=settings.expectile,
    )
    losses.make_value_estimator(ValueEstimators.TD0, gamma=settings.gamma)
    return losses, SoftUpdate(losses, tau=settings.tau).step


def _layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
