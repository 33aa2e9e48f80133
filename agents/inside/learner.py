"""A learner inside the loop: rollouts at the speed of packets, since the compiled loop itself draws and records the decisions.

A rollout plays replicas of a few worlds of the training split with a stochastic rule; then an update improves its policy by what it
recorded. The controls that an environment leaves to its agent learn together, each at its own location, and explore in turns: in a rollout
one draws and the others do as they are ranked, so that replicas differ by the draws of that one alone. Rules keep all other controls. All
draws follow from the seed and the number of the rollout, so weights and optimisers are the whole state of a training.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.inside.policies import POLICIES, LoopPolicy
from vcgym.agents.inside.recorder import Recorder, bind, close
from vcgym.agents.inside.update import improve, judge
from vcgym.agents.networks.two_layers import TwoLayers
from vcgym.baselines.controls.control import Control
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.rule import for_kernels
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.network.playout.receiver import WATERMARK
from vcgym.network.scenarios.scenario import Scenario

CRITIC_HIDDEN = 64
_LOCATION = ("location", "feedback_loss", "probe_rate")


class Task(NamedTuple):
    """Controls that an environment leaves to its agent, and their surroundings.

    Attributes:
        scenario: source of the worlds.
        learned: controls to learn.
        rules: rules of the other controls.
        reward: parameters of the reward.
        location: arguments of `CallBatch` about the location of the path's controller and its feedback.
    """

    scenario: Scenario
    learned: list[str]
    rules: dict[str, Any]
    reward: Any
    location: dict[str, Any]


def task_of(config: EnvConfig) -> Task:
    """Return the task of an environment.

    Raises:
        ValueError: it has no calls over paths, or its agent sets what no policy learns inside the loop.
    """
    envs = make_envs(config, 1, "train")
    env: Any = envs.unwrapped
    envs.close()
    allowed = f"environments over paths without an uplink, whose agent sets {' or '.join(POLICIES)} (the lag)"
    if not hasattr(env, "setters") or env.uplink.part:
        raise ValueError(f"algorithm is InsidePPO and env.id is {config.id}; allowed: {allowed}")
    setters = {str(control): setter for control, setter in env.setters.items()}
    learned = [control for control, setter in setters.items() if isinstance(setter, FromAgent)]
    if any(control not in POLICIES or setters[control].buffer != WATERMARK for control in learned):
        raise ValueError(f"algorithm is InsidePPO and the agent of {config.id} sets {' and '.join(learned)}; allowed: {allowed}")
    rules = {control: setter for control, setter in setters.items() if control not in learned}
    return Task(env.batch.scenario, learned, rules, env.reward, {name: config.options[name] for name in _LOCATION})


class Learning:
    """The networks of one training and their optimisers.

    Attributes:
        rollouts: number of rollouts so far.
        decisions: number of recorded decisions so far, of all controls.
        policies: policy of each learned control.
        critics: critic of each; None: replicas are the baseline.
        optimisers: optimiser of each.

    Args:
        task: what is learned.
        settings: of the algorithm.
        sessions: calls of a rollout, a multiple of `settings.replicas`.
        steps: planned decisions; the step size falls to 0 there.
        seed: seed of the training.
        threads: threads that play; no effect on the result.
    """

    def __init__(self, task: Task, settings: InsidePPOConfig, sessions: int, steps: int, seed: int, threads: int = 1) -> None:
        self.task, self.settings, self.steps, self.seed, self.rollouts, self.decisions = task, settings, steps, seed, 0, 0
        torch.manual_seed(seed)
        self.policies: dict[str, LoopPolicy] = {control: POLICIES[Control(control)](settings) for control in task.learned}
        self.critics: dict[str, TwoLayers | None] = {
            control: TwoLayers(policy.first.in_features, CRITIC_HIDDEN, 0.0) if settings.baseline == "critic" else None
            for control, policy in self.policies.items()
        }
        self.optimisers = {control: torch.optim.Adam(self._trained(control), settings.learning_rate) for control in task.learned}
        self.worlds = TrainingCalls.evenly(task.scenario, "train", settings.worlds, seed * settings.worlds)
        if settings.max_added_ms:
            self.worlds.lengthen(settings.max_added_ms, np.random.default_rng(seed))
        world = self.worlds.some(np.zeros(sessions, np.int64)).world
        self.batches = {
            control: CallBatch(task.scenario, sessions, **self._rules(control), **task.location, threads=threads, world=world)
            for control in task.learned
        }

    def start_moments(self) -> None:
        """Take a step of size zero, so that the optimisers have moments that can be restored."""
        for control, optimiser in self.optimisers.items():
            for parameter in self._trained(control):
                parameter.grad = torch.zeros_like(parameter)
            for group in optimiser.param_groups:
                group["lr"] = 0.0
            optimiser.step()

    def _trained(self, control: str) -> list[torch.nn.Parameter]:
        critic = self.critics[control]
        return [*self.policies[control].parameters(), *(() if critic is None else critic.parameters())]

    def _rules(self, exploring: str) -> dict[str, Any]:
        learned = {control: policy.rule() for control, policy in self.policies.items()}
        sampled = self.policies[exploring].sampled(self.task.scenario.packets, self.rollouts, self.task.reward)
        return self.task.rules | learned | {exploring: sampled}

    @property
    def system(self) -> System:
        """The rules as they are ranked: those that learn without noise."""
        return System(*self.task.rules.values(), *(policy.rule() for policy in self.policies.values()))

    def turn(self) -> dict[str, float]:
        """Play a rollout in which one control explores, and improve its policy; return metrics."""
        draws = np.random.default_rng([self.seed, self.rollouts])
        control = self.task.learned[self.rollouts % len(self.task.learned)]
        recorder = self._play(control, draws)
        policy, critic, optimiser = self.policies[control], self.critics[control], self.optimisers[control]
        for group in optimiser.param_groups:
            group["lr"] = self.settings.learning_rate * max(0.0, 1.0 - self.decisions / self.steps)
        judged = judge(recorder, policy, critic, self.settings, self.task.scenario.packets)
        clipped = improve(policy, critic, optimiser, recorder, judged, self.settings, draws)
        self.decisions += int(recorder.decided.sum())
        self.rollouts += 1
        returned = float(recorder.gain.sum(dtype=np.float64)) / len(recorder.decided)
        return {f"train/clipped_{control}": clipped, f"train/return_{control}": returned}

    def _play(self, exploring: str, draws: np.random.Generator) -> Recorder:
        """Play replicas of some worlds to their ends, and return the records of the control that explores."""
        batch, replicas = self.batches[exploring], self.settings.replicas
        drawn = draws.choice(len(self.worlds), batch.sessions // replicas, replace=batch.sessions // replicas > len(self.worlds))
        calls = self.worlds.some(np.repeat(drawn, replicas))
        batch.world = calls.world
        for control, rule in self._rules(exploring).items():
            setattr(batch, control, for_kernels(rule))
        name = f"{exploring}_state"
        state = getattr(batch, name)
        setattr(batch, name, state._replace(recorder=bind(state.recorder, batch)))
        for row, draw in enumerate(calls.draws):
            batch.start(row, draw)
        batch.play(np.arange(batch.sessions))
        recorder: Recorder = getattr(batch, name).recorder
        close(recorder)
        return recorder
