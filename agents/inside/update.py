"""The update of a policy: one pass of PPO (Schulman et al. 2017, arXiv 1707.06347) over recorded decisions, a few whole calls at a time."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.inside.advantages import less_replicas, returns
from vcgym.agents.inside.policies import LoopPolicy
from vcgym.agents.inside.recorder import Recorder

TAIL_SLOTS = 4000  # a call ends at most this long after its last packet


def advantages(recorder: Recorder, policy: LoopPolicy, replicas: int, slots: int) -> NDArray[np.float32]:
    """Return the advantages (sessions, decisions) of recorded decisions against the replicas of their worlds."""
    found, returned = np.zeros_like(recorder.gain), np.zeros_like(recorder.gain)
    returns(recorder.gain, recorder.slot, recorder.decided, policy.discount, returned)
    less_replicas(returned, recorder.slot, recorder.decided, replicas, policy.discount, np.zeros(slots + TAIL_SLOTS), found)
    return found


def evened(recorder: Recorder, advantage: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return advantages divided by the root of their standard deviation, so that kinds of worlds in which rewards vary little count too."""
    decided = np.arange(recorder.gain.shape[1]) < recorder.decided[:, None]
    spread = advantage[decided].std() if decided.any() else 0.0
    return advantage / np.float32(math.sqrt(spread)) if spread > 0.0 else advantage


def improve(
    policy: LoopPolicy, optimiser: torch.optim.Optimizer, recorders: Sequence[Recorder], judged: Sequence[NDArray[np.float32]],
    settings: InsidePPOConfig, draws: np.random.Generator,
) -> float:  # fmt: skip
    """Take one step per few calls, each call `n_epochs` times; return the share of decisions that the clip left out."""
    clipped, steps = 0.0, 0
    recorded = [
        ((r.x, r.action, r.log_prob, advantage), s, r.decided[s])
        for r, advantage in zip(recorders, judged, strict=True)
        for s in range(r.decided.size)
    ]
    for _ in range(settings.n_epochs):
        order = draws.permutation(len(recorded))
        for first in range(0, order.size, settings.calls_per_step):
            calls = [recorded[one] for one in order[first : first + settings.calls_per_step]]
            x, action, before, advantage = (
                torch.from_numpy(np.concatenate([arrays[number][s, :n] for arrays, s, n in calls])) for number in range(4)
            )
            lengths = [int(n) for *_, n in calls]
            if not any(lengths):
                continue
            ratio = torch.exp(policy.log_prob(x, action, lengths) - before)
            within = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
            loss = -torch.minimum(ratio * advantage, within * advantage).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            clipped, steps = clipped + float((ratio != within).float().mean()), steps + 1
    return clipped / max(steps, 1)
