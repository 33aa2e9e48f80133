"""A learner inside the loop: rollouts at the speed of packets, since the compiled loop itself draws and records the decisions.

A rollout plays replicas of a few worlds of the training split, of each kind as many, with a stochastic rule; then an update improves its
policy by what it recorded. The controls that an environment leaves to its agent learn together, each at its own location, and explore in
turns: in a rollout one draws and the others do as they are ranked, so that replicas differ by the draws of that one alone. Rules keep all
other controls. All draws follow from the seed and the number of the rollout, so weights and optimisers are the whole state of a training.
"""

from typing import Any

import numpy as np
import torch

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.inside.policies import POLICIES, LagPolicy, LoopPolicy
from vcgym.agents.inside.recorder import Recorder, bind, close
from vcgym.agents.inside.tasks import Task
from vcgym.agents.inside.update import advantages, evened, improve
from vcgym.baselines.controls.control import Control
from vcgym.baselines.rule import for_kernels
from vcgym.baselines.systems import System


class Learning:
    """The networks of one training and their optimisers.

    Attributes:
        rollouts: number of rollouts so far.
        decisions: number of recorded decisions so far, of all controls.
        packets: number of packets played so far.
        policies: policy of each learned control.
        optimisers: optimiser of each.

    Args:
        task: what is learned.
        settings: of the algorithm.
        sessions: calls of a rollout, of each kind, a multiple of `settings.replicas`.
        steps: planned decisions; the step size falls to 0 there.
        seed: seed of the training.
        threads: threads that play; no effect on the result.

    Raises:
        ValueError: a control has nothing to decide in these worlds.
    """

    def __init__(self, task: Task, settings: InsidePPOConfig, sessions: int, steps: int, seed: int, threads: int = 1) -> None:
        self.task, self.settings, self.steps, self.seed = task, settings, steps, seed
        self.rollouts, self.decisions, self.packets = 0, 0, 0
        torch.manual_seed(seed)
        self.policies: dict[str, LoopPolicy] = {control: POLICIES[Control(control)](settings) for control in task.learned}
        self.optimisers = {
            control: torch.optim.Adam(policy.parameters(), settings.learning_rate) for control, policy in self.policies.items()
        }
        each, lengths = -(-settings.worlds // task.kinds), np.random.default_rng(seed)
        self.worlds = task.worlds("train", each, seed * each)
        if settings.max_added_ms:
            for worlds in self.worlds:
                task.lengthen(worlds, settings.max_added_ms, lengths)
        self.batches = {
            control: [task.batch(self._rules(control), worlds, sessions, threads) for worlds in self.worlds] for control in task.learned
        }
        before = {control: self._before(control) for control in task.learned}
        self.packets = 0
        alone = next(iter(self.policies.values()))
        if len(self.policies) == 1 and isinstance(alone, LagPolicy):
            alone.after = True
            alone.measure(before[alone.control])

    def _before(self, control: str) -> torch.Tensor:
        """Return the features (decisions, width) of a rollout before the first, from which networks take units.

        Raises:
            ValueError: there is none: the control would learn nothing, without an end.
        """
        recorders = [self._play(control, kind, np.random.default_rng(self.seed)) for kind in range(len(self.worlds))]
        x = torch.from_numpy(np.concatenate([r.x[s, :n] for r in recorders for s, n in enumerate(r.decided)]))
        if not len(x):
            raise ValueError(
                f"algorithm is InsidePPO and {control} has nothing to decide in calls of {self.task.slots / 100:g} s; "
                "allowed: several paths, for a path, and longer calls"
            )
        return x

    def start_moments(self) -> None:
        """Take a step of size zero, so that the optimisers have moments that can be restored."""
        for control, optimiser in self.optimisers.items():
            for parameter in self.policies[control].parameters():
                parameter.grad = torch.zeros_like(parameter)
            for group in optimiser.param_groups:
                group["lr"] = 0.0
            optimiser.step()

    def _rules(self, exploring: str) -> dict[str, Any]:
        learned = {control: policy.rule() for control, policy in self.policies.items()}
        sampled = self.policies[exploring].sampled(self.task.slots, self.rollouts, self.task.reward)
        return self.task.rules | learned | {exploring: sampled}

    @property
    def system(self) -> System:
        """The rules as they are ranked: those that learn without noise."""
        return System(*self.task.rules.values(), *(policy.rule() for policy in self.policies.values()), pacing=self.task.pacing)

    def turn(self) -> dict[str, float]:
        """Play a rollout in which one control explores, and improve its policy; return metrics."""
        draws = np.random.default_rng([self.seed, self.rollouts])
        control = self.task.learned[self.rollouts % len(self.task.learned)]
        recorders = [self._play(control, kind, draws) for kind in range(len(self.worlds))]
        policy, optimiser = self.policies[control], self.optimisers[control]
        for group in optimiser.param_groups:
            group["lr"] = self.settings.learning_rate * max(0.0, 1.0 - self.decisions / self.steps)
        judged = [advantages(recorder, policy, self.settings.replicas, self.task.slots) for recorder in recorders]
        if len(judged) > 1:
            judged = [evened(*both) for both in zip(recorders, judged, strict=True)]
        clipped = improve(policy, optimiser, recorders, judged, self.settings, draws)
        self.decisions += sum(int(recorder.decided.sum()) for recorder in recorders)
        self.rollouts += 1
        returned = [float(recorder.gain.sum(dtype=np.float64)) / len(recorder.decided) for recorder in recorders]
        return {f"train/clipped_{control}": clipped, f"train/return_{control}": float(np.mean(returned))}

    def _play(self, exploring: str, kind: int, draws: np.random.Generator) -> Recorder:
        """Play replicas of some worlds of a kind to their ends, and return the records of the control that explores."""
        batch, worlds, replicas = self.batches[exploring][kind], self.worlds[kind], self.settings.replicas
        drawn = draws.choice(len(worlds), batch.sessions // replicas, replace=batch.sessions // replicas > len(worlds))
        for control, rule in self._rules(exploring).items():
            setattr(batch, control, for_kernels(rule))
        name = f"{exploring}_state"
        state = getattr(batch, name)
        setattr(batch, name, state._replace(recorder=bind(state.recorder, self.task.counted(batch))))
        self.task.start(batch, worlds, np.repeat(drawn, replicas))
        batch.play(np.arange(batch.sessions))
        self.packets += self.task.packets(batch)
        recorder: Recorder = getattr(batch, name).recorder
        close(recorder)
        return recorder
