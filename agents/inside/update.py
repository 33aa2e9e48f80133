"""The update of a policy: one pass of PPO (Schulman et al. 2017, arXiv 1707.06347) over recorded decisions, a few whole calls at a time."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.inside.advantages import generalised, less_replicas, returns
from vcgym.agents.inside.policies import LoopPolicy
from vcgym.agents.inside.recorder import Recorder
from vcgym.agents.networks.two_layers import TwoLayers

TAIL_SLOTS = 4000  # a call ends at most this long after its last packet


class Advantages(NamedTuple):
    """Advantage and target of the critic for each decision, (sessions, decisions)."""

    advantage: NDArray[np.float32]
    target: NDArray[np.float32]


def judge(recorder: Recorder, policy: LoopPolicy, critic: TwoLayers | None, settings: InsidePPOConfig, slots: int) -> Advantages:
    """Return the advantages of recorded decisions, against the replicas of their worlds or, with a critic, against its values."""
    seen = recorder.gain, recorder.slot, recorder.decided
    advantage, target = np.zeros_like(recorder.gain), np.zeros_like(recorder.gain)
    if critic is None:
        returns(*seen, policy.discount, target)
        at = np.zeros(slots + TAIL_SLOTS)
        less_replicas(target, recorder.slot, recorder.decided, settings.replicas, policy.discount, at, advantage)
        return Advantages(advantage, target)
    with torch.no_grad():
        value = critic.output(torch.from_numpy(recorder.x)).numpy()
    generalised(*seen, value, policy.discount, settings.gae_lambda, advantage)
    return Advantages(advantage, advantage + value)


def evened(recorder: Recorder, judged: Advantages) -> Advantages:
    """Return advantages divided by the root of their standard deviation, so that kinds of worlds in which rewards vary little count too."""
    decided = np.arange(recorder.gain.shape[1]) < recorder.decided[:, None]
    spread = judged.advantage[decided].std() if decided.any() else 0.0
    return judged._replace(advantage=judged.advantage / np.float32(math.sqrt(spread))) if spread > 0.0 else judged


def improve(
    policy: LoopPolicy, critic: TwoLayers | None, optimiser: torch.optim.Optimizer, recorders: Sequence[Recorder],
    judged: Sequence[Advantages], settings: InsidePPOConfig, draws: np.random.Generator,
) -> float:  # fmt: skip
    """Take one step per few calls, each call `n_epochs` times; return the share of decisions that the clip left out."""
    clipped, steps = 0.0, 0
    recorded = [
        ((r.x, r.action, r.log_prob, *found), s, r.decided[s])
        for r, found in zip(recorders, judged, strict=True)
        for s in range(r.decided.size)
    ]
    for _ in range(settings.n_epochs):
        order = draws.permutation(len(recorded))
        for first in range(0, order.size, settings.calls_per_step):
            calls = [recorded[one] for one in order[first : first + settings.calls_per_step]]
            x, action, before, advantage, target = (
                torch.from_numpy(np.concatenate([arrays[number][s, :n] for arrays, s, n in calls])) for number in range(5)
            )
            lengths = [int(n) for *_, n in calls]
            if not any(lengths):
                continue
            ratio = torch.exp(policy.log_prob(x, action, lengths) - before)
            within = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
            loss = -torch.minimum(ratio * advantage, within * advantage).mean()
            if critic is not None:
                loss = loss + settings.vf_coef * torch.nn.functional.mse_loss(critic.output(x), target)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            clipped, steps = clipped + float((ratio != within).float().mean()), steps + 1
    return clipped / max(steps, 1)
