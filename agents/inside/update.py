"""The update of a network: PPO (Schulman et al. 2017, arXiv 1707.06347) over recorded decisions, a few whole calls at a time.

An advantage is the return of a decision less a baseline that no action of its own changes. Worlds are exogenous, so replicas of one world
differ by the draws of the policy alone. The baseline of a decision is the mean return of the other replicas of its world from the same slot
on (leave-one-out, as Kool, van Hoof and Welling 2019, "Buy 4 REINFORCE samples, get a baseline for free!"). It needs no critic and removes
what the world did.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.inside.noise import Noise
from vcgym.agents.inside.rollout import Decisions, Rollout
from vcgym.agents.networks.two_layers import TwoLayers, WeightedSum
from vcgym.network.kernels.jit import kernel


def advantages(played: Rollout, discount: float, replicas: int) -> NDArray[np.float32]:
    """Return the advantages (calls, decisions) of a rollout against the replicas of its worlds; `discount` is per 10 ms."""
    found, returned = np.zeros_like(played.gain), np.zeros_like(played.gain)
    returns(played.gain, played.slot, played.decided, discount, returned)
    slots = int(played.slot.max(initial=0)) + 1
    leave_one_out(returned, played.slot, played.decided, replicas, discount, np.zeros(slots), found)
    return found


def normalise(played: Rollout, advantage: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return advantages divided by the root, not the whole, of their standard deviation: kinds in which rewards vary little count more."""
    decided = np.arange(played.gain.shape[1]) < played.decided[:, None]
    spread = advantage[decided].std() if decided.any() else 0.0
    return advantage / np.float32(math.sqrt(spread)) if spread > 0.0 else advantage


def improve(
    network: TwoLayers | WeightedSum, noise: Noise, optimiser: torch.optim.Optimizer, calls: Sequence[Decisions],
    settings: InsidePPOConfig, draws: np.random.Generator,
) -> float:  # fmt: skip
    """Make `n_epochs` passes, with a step for each `calls_per_step` calls; return the share of decisions that the clip left out."""
    clipped, steps = 0.0, 0
    for _ in range(settings.n_epochs):
        order = draws.permutation(len(calls))
        for first in range(0, order.size, settings.calls_per_step):
            taken = [calls[one] for one in order[first : first + settings.calls_per_step]]
            x, action, old_log_prob, advantage = (torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*taken, strict=True))
            if not len(x):
                continue
            log_prob = noise.log_prob(network.output(x), action, [len(one.x) for one in taken])
            ratio = torch.exp(log_prob - old_log_prob)
            within = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
            loss = -torch.minimum(ratio * advantage, within * advantage).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            clipped, steps = clipped + float((ratio != within).float().mean()), steps + 1
    return clipped / max(steps, 1)


@kernel
def returns(gain, slot, count, discount, out):
    """Write the discounted return of each decision.

    Args:
        gain: float32 (sessions, decisions), reward from each decision to the next.
        slot: int32 (sessions, decisions), slot of each decision, not decreasing.
        count: int64 (sessions,), decisions of each session.
        discount: float64, per slot, 0 to 1.
        out: float32 (sessions, decisions), written up to `count`.
    """
    for s in range(count.size):
        following = 0.0
        for n in range(count[s] - 1, -1, -1):
            if n + 1 < count[s]:
                following *= math.pow(discount, slot[s, n + 1] - slot[s, n])
            following += gain[s, n]
            out[s, n] = following


@kernel
def leave_one_out(returned, slot, count, replicas, discount, by_slot, out):
    """Write each return less the mean of the other replicas of its world from the same slot on.

    Args:
        returned: float32 (sessions, decisions), return of each decision.
        slot: int32 (sessions, decisions), slot of each decision, not decreasing.
        count: int64 (sessions,), decisions of each session.
        replicas: int64, consecutive sessions of one world, at least 2.
        discount: float64, per slot, 0 to 1; a replica without a decision in a slot counts from its next one on.
        by_slot: float64 (slots,), work space; longer than any slot.
        out: float32 (sessions, decisions), written up to `count`.
    """
    for first in range(0, count.size, replicas):
        by_slot[:] = 0.0
        for s in range(first, first + replicas):
            _add_by_slot(returned[s], slot[s], count[s], discount, by_slot)
        for s in range(first, first + replicas):
            own, n = 0.0, count[s] - 1
            for t in range(by_slot.size - 1, -1, -1):
                own *= discount
                last = n
                while n >= 0 and slot[s, n] == t:
                    own = returned[s, n]
                    n -= 1
                for k in range(n + 1, last + 1):
                    out[s, k] = returned[s, k] - (by_slot[t] - own) / (replicas - 1)


@kernel
def _add_by_slot(returned, slot, count, discount, by_slot):
    """Add the return of one session from each slot on to `by_slot`."""
    value, n = 0.0, count - 1
    for t in range(by_slot.size - 1, -1, -1):
        value *= discount
        while n >= 0 and slot[n] == t:
            value = returned[n]
            n -= 1
        by_slot[t] += value
