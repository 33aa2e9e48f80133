"""Reward for rate control: delivery rate minus costs of delay and loss. A packet counts when reported, the rest in the last step.

Per decision, with s the seconds that its reports cover, r the delivery rate in Mbit/s, d the mean delay from capture to arrival minus
propagation in seconds, l the share of packets lost, rejected or discarded:

    s (0.6 ln(4 r + 1) - d - 10 l)

Source: the reward of R3Net (Fang et al. 2019, arXiv 1912.02222) per second instead of per 50 ms, with the sender's own queue included in
the delay. Packets captured before the call's `counts_from_s` have no reward.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.rewards.reward import SENDER, allocate_state, begin, earned, outcomes, reward
from vcgym.envs.call.sender.events import is_done, settled
from vcgym.network.bottleneck.send_queue import KINDS
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records, restart

PARTS = ("rate", "delay", "loss")


@record
class UtilityBefore:
    """Counts that have been rewarded."""

    until_us: int = 0  # the newest rewarded report
    bytes: int = 0
    delay_us: int = 0
    delivered: int = 0
    missing: int = 0
    parts: NDArray[np.float64] = np.zeros(len(PARTS))  # sums since the start of the call


_NEW = records(UtilityBefore, 1)


@reward(SENDER)
class Utility(NamedTuple):
    """Weights of the three parts."""

    rate_weight: float = 0.6
    rate_scale_per_mbps: float = 4.0
    delay_price_per_s: float = 1.0
    loss_price: float = 10.0


@allocate_state.register(Utility)
def _allocate(reward, sessions):
    return records(UtilityBefore, sessions)


@begin.register(Utility)
def _begin(reward, state, accounts, s):
    restart(state[s : s + 1], _NEW)


@earned.register(Utility)
def _earned(reward, state, accounts, s):
    sender, now = accounts.senders[s], state[s]
    bytes_, delay_us, delivered, missing = now.bytes, now.delay_us, now.delivered, now.missing
    _count(sender, now)
    until_us = sender.ends_us if is_done(sender) else sender.stats.report_us
    span_us = until_us - now.until_us
    now.until_us = until_us
    before = now.parts[0] + now.parts[1] + now.parts[2]
    if span_us > 0:
        arrived, gone = now.delivered - delivered, now.missing - missing
        rate = math.log1p(reward.rate_scale_per_mbps * 8.0 * (now.bytes - bytes_) / span_us)
        now.parts[0] += span_us * 1e-6 * reward.rate_weight * rate
        if arrived > 0:
            mean_us = (now.delay_us - delay_us) / arrived - sender.forward_us
            now.parts[1] -= span_us * 1e-6 * reward.delay_price_per_s * mean_us * 1e-6
        if arrived + gone > 0:
            now.parts[2] -= span_us * 1e-6 * reward.loss_price * gone / (arrived + gone)
    return now.parts[0] + now.parts[1] + now.parts[2] - before


@kernel
def _count(sender, now):
    """Update the counts of all packets; at the end, also of those still queued."""
    now.bytes = now.delay_us = now.delivered = now.missing = 0
    for kind in range(KINDS):
        counts = sender.counts[kind]
        now.bytes += counts.bytes_delivered
        now.delay_us += counts.delay_us
        now.delivered += counts.delivered
        now.missing += settled(sender, counts) - counts.delivered


@outcomes.register
def _outcomes(reward: Utility, state: Any) -> dict[str, NDArray[Any]]:
    return {f"utility_{part}": state["parts"][:, i].copy() for i, part in enumerate(PARTS)}
