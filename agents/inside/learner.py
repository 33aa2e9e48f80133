"""A learner inside the loop: networks that learn from rollouts at the speed of packets.

The controls that an environment leaves to its agent learn together, each at its own location, and explore in turns: in a rollout one draws
and the others do as they are ranked, so that replicas of a world differ by the draws of that one alone. Rules keep all other controls. All
draws follow from the seed and the number of the rollout, so weights and optimisers are the whole state of a training.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.controllers import arrival_features, learned_aim, learned_margin, learned_switch
from vcgym.agents.controllers.learned_aim import HOLD, LearnedAim
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_margin import LearnedMargin
from vcgym.agents.controllers.learned_router import START
from vcgym.agents.controllers.learned_switch import EVERY_SLOTS, LearnedSwitch
from vcgym.agents.inside.noise import Bernoulli, Noise, Normal
from vcgym.agents.inside.rollout import play_drawn_worlds, rollout
from vcgym.agents.inside.tasks import Training, task_of
from vcgym.agents.inside.update import advantages, improve, normalise
from vcgym.agents.networks.two_layers import TwoLayers, WeightedSum
from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import System

Network = TwoLayers | WeightedSum


class Learned(NamedTuple):
    """Network and rule of a control that learns.

    Attributes:
        control: the control.
        network: makes its network from a number of hidden units.
        rule: makes its rule from the arrays of the network.
        every: minimum number of slots between two decisions.
    """

    control: Control
    network: Callable[[int], Network]
    rule: Callable[..., Any]
    every: int = 1


_ROWS = (
    # A bias of -3 changes path in one of 20 decisions, every 4 s.
    Learned(Control.PATH, partial(TwoLayers, learned_switch.WIDTH, start=-3.0), partial(LearnedSwitch, START), EVERY_SLOTS),
    Learned(Control.PLAYOUT, partial(TwoLayers, arrival_features.WIDTH, start=0.5), LearnedLag),  # about 20 ms above the newest delay
    Learned(Control.RATE, partial(TwoLayers, learned_aim.WIDTH, start=0.25), LearnedAim, HOLD),  # aims at about 30 ms
    # 1 half round trip, as in SBPN2; weights without layers, since a scheduler has no memory for these.
    Learned(Control.ORDER, lambda hidden: WeightedSum(learned_margin.WIDTH, start=-1.1, speed=3.0), LearnedMargin),
)
LEARNABLE = {row.control: row for row in _ROWS}


class Learning:
    """The networks of one training and their optimisers.

    Attributes:
        task: what is learned.
        rollouts: number of rollouts so far.
        decisions: number of recorded decisions so far, of all controls.
        packets: number of packets played so far.
        networks: network of each learned control.
        optimisers: optimiser of each.

    Args:
        env: the environment.
        settings: of the algorithm.
        calls: calls of a rollout, of each kind, a multiple of `settings.replicas`.
        steps: planned decisions; the step size falls to 0 there.
        seed: seed of the training.
        threads: threads that play; no effect on the result.

    Raises:
        ValueError: a control has nothing to decide in these worlds; see also `vcgym.agents.inside.tasks.task_of`.
    """

    def __init__(self, env: EnvConfig, settings: InsidePPOConfig, calls: int, steps: int, seed: int, threads: int = 1) -> None:
        worlds = env.options["worlds"] or Training().worlds
        self.task = task_of(env, Training(calls, worlds, settings.max_added_ms, seed, threads))
        self.settings, self.steps, self.seed = settings, steps, seed
        self.rollouts, self.decisions, self.packets = 0, 0, 0
        torch.manual_seed(seed)
        self.networks = {control: LEARNABLE[Control(control)].network(settings.hidden) for control in self.task.learned}
        self.optimisers = {
            control: torch.optim.Adam(network.parameters(), settings.learning_rate) for control, network in self.networks.items()
        }
        features = {control: self._features(control) for control in self.task.learned}
        # A lag that learns alone gains by features with units; next to a path that learns too it does not (lab/notes/agents.md).
        if self._lag_is_alone:
            lag: Any = self.networks[Control.PLAYOUT]
            lag.measure(features[Control.PLAYOUT])

    @property
    def _lag_is_alone(self) -> bool:
        return list(self.networks) == [Control.PLAYOUT]

    def _features(self, control: str) -> torch.Tensor:
        """Return the features (decisions, width) of a rollout before the first; that there are any matters for every control.

        Raises:
            ValueError: there is none: the control would learn nothing, without an end.
        """
        rules, replicas = self._rules(control), self.settings.replicas
        of_kinds, seed = self.task.training_worlds, self.seed
        played = [play_drawn_worlds(self.task, rules, worlds, replicas, np.random.default_rng(seed)) for worlds in of_kinds]
        x = torch.from_numpy(np.concatenate([one.x[s, :n] for one in played for s, n in enumerate(one.decided)]))
        if not len(x):
            raise ValueError(
                f"algorithm is InsidePPO and {control} has nothing to decide in calls of {self.task.slots / 100:g} s; "
                "allowed: several paths, for a path, and longer calls"
            )
        return x

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state of the training, as torch does of a network."""
        learned = {control: (self.networks[control].state_dict(), self.optimisers[control].state_dict()) for control in self.networks}
        return {"rollouts": self.rollouts, "decisions": self.decisions, "packets": self.packets, "learned": learned}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take a state of `state_dict` over."""
        self.rollouts, self.decisions, self.packets = state["rollouts"], state["decisions"], state["packets"]
        for control, (network, optimiser) in state["learned"].items():
            self.networks[control].load_state_dict(network)
            self.optimisers[control].load_state_dict(optimiser)

    def _noise(self, control: str) -> Noise:
        """Return how a control explores: a lag that learns alone also gains by the densities of innovations."""
        if control == Control.PATH:
            return Bernoulli()
        innovations = control == Control.PLAYOUT and self._lag_is_alone
        return Normal(self.settings.noise_sd, self.settings.noise_memory, innovations, self.settings.mirrored)

    def ranked(self) -> dict[str, Any]:
        """Return the rule of each learned control as it is ranked, without noise."""
        return {control: LEARNABLE[Control(control)].rule(*network.arrays()) for control, network in self.networks.items()}

    def _rules(self, exploring: str) -> dict[str, Any]:
        rules, every = self.ranked(), LEARNABLE[Control(exploring)].every
        return rules | {exploring: self.task.sampled(rules[exploring], self._noise(exploring), self.rollouts, every)}

    @property
    def system(self) -> System:
        """All rules as they are ranked."""
        return System(*self.task.rules.values(), *self.ranked().values(), pacing=self.task.pacing)

    def train_step(self) -> dict[str, float]:
        """Play a rollout in which one control explores, and improve its network; return metrics."""
        draws = np.random.default_rng([self.seed, self.rollouts])
        control, settings = self.task.learned[self.rollouts % len(self.task.learned)], self.settings
        played = rollout(self.task, self._rules(control), settings.replicas, draws)
        optimiser, noise = self.optimisers[control], self._noise(control)
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * max(0.0, 1.0 - self.decisions / self.steps)
        discount = settings.gamma if control == Control.PLAYOUT else settings.path_gamma
        found = [advantages(one, discount, settings.replicas) for one in played]
        if len(played) > 1:
            found = [normalise(*both) for both in zip(played, found, strict=True)]
        calls = [one.call(s, advantage) for one, advantage in zip(played, found, strict=True) for s in range(one.decided.size)]
        clipped = improve(self.networks[control], noise, optimiser, calls, settings, draws)
        self.decisions += sum(int(one.decided.sum()) for one in played)
        self.packets += sum(one.packets for one in played)
        self.rollouts += 1
        returned = [float(one.gain.sum(dtype=np.float64)) / len(one.decided) for one in played]
        return {f"train/clipped_{control}": clipped, f"train/return_{control}": float(np.mean(returned))}
