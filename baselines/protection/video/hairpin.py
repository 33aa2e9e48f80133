"""Hairpin (Meng et al., NSDI 2024) for the video of a call with an uplink: repair packets by the rounds left before a frame's expiry.

A frame of F packets, or the n of them that a report says are lost, goes with k repair packets by `hairpin_plan`, with L = (remaining - r)
/ r rounds, rounded down, 1 to 15. r is the round trip plus its deviation in whole ms, rounded up; the loss counts in steps of 1 % up to
50 %.

Named choices: the loss is an average over 500 packets; round trip and deviation are those of RFC 6298 from a packet's departure to its
report; what cannot arrive any more, in half a round trip, does not go again; a frame of more than 12 packets takes the share that 12 take.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.hairpin_plan import repair_plan
from vcgym.baselines.protection.nack import DEFAULT_RTT_US
from vcgym.baselines.protection.protect import FrameProtection, protect_again, protect_frame, repair_size
from vcgym.baselines.records import NOT_ARRIVED
from vcgym.baselines.rule import Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_ROUNDS, _PERCENT, _PACKETS = 15, 50, 12
_LOSS_GAIN, _RTT_GAIN, _DEVIATION_GAIN = 1.0 / 500.0, 0.125, 0.25

HAIRPIN_VIDEO = np.dtype((np.record, [("loss", "f8"), ("rtt_us", "f8"), ("deviation_us", "f8")]))


@rule(Control.PROTECTION)
class HairpinVideo(NamedTuple):
    """Parameters: price of as many repair packets as a frame has packets, in frames that miss their deadline."""

    cost: float = 1e-4


class HairpinVideoState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of HAIRPIN_VIDEO
    plans: NDArray[np.int64]  # (sessions, packets of a frame, percent of loss, rounds, packets left), from 0 on each


@functools.cache
def video_plans(cost: float) -> NDArray[np.int64]:
    """Return k by packets of a frame, percent of loss, rounds and packets left, from 0 on each; it takes some seconds."""
    plans = np.zeros((_PACKETS + 1, _PERCENT + 1, _ROUNDS + 1, _PACKETS + 1), np.int64)
    for frame in range(1, _PACKETS + 1):
        for percent in range(_PERCENT + 1):
            plans[frame, percent, :, : frame + 1] = repair_plan(percent / 100.0, cost, frame, _ROUNDS)
    return plans


@allocate.register(HairpinVideo)
def _allocate(params, sessions, paths):
    require_within(params, cost=(1e-9, 1.0))
    plans = video_plans(params.cost)
    return HairpinVideoState(np.zeros(sessions, HAIRPIN_VIDEO).view(np.recarray), np.broadcast_to(plans, (sessions, *plans.shape)))


@init.register(HairpinVideo)
def _init(params, state, s, start, key):
    row = state.rows[s]
    row.loss = 0.0
    row.rtt_us = DEFAULT_RTT_US
    row.deviation_us = DEFAULT_RTT_US / 2


@update.register(HairpinVideo)
def _update(params, state, s, record):
    row = state.rows[s]
    is_lost = record.arrived_us == NOT_ARRIVED
    row.loss += _LOSS_GAIN * ((1.0 if is_lost else 0.0) - row.loss)
    if not is_lost:
        error_us = record.known_us - record.sent_us - row.rtt_us
        row.deviation_us += _DEVIATION_GAIN * (abs(error_us) - row.deviation_us)
        row.rtt_us += _RTT_GAIN * error_us


@kernel
def _round_us(row):
    return 1000.0 * np.ceil((row.rtt_us + row.deviation_us) / 1000.0)


@kernel
def _repairs(row, plans, packets, left, remaining_us):
    """Return the repair packets that go with `left` of the packets of a frame, int64."""
    round_us = _round_us(row)
    rounds = min(max(np.int64((remaining_us - round_us) // round_us), 1), _ROUNDS)
    percent = min(np.int64(np.rint(100.0 * row.loss)), _PERCENT)
    if packets <= _PACKETS:
        return plans[packets, percent, rounds, left]
    share = plans[_PACKETS, percent, rounds, max(left * _PACKETS // packets, 1)] / _PACKETS
    return np.int64(np.ceil(share * packets))


@protect_frame.register(HairpinVideo)
def _protect_frame(params, state, s, now_us, frame):
    repairs = _repairs(state.rows[s], state.plans[s], frame.packets, frame.packets, frame.remaining_us)
    return FrameProtection(repairs, 0, repair_size(frame.packets, frame.longest_bytes))


@protect_again.register(HairpinVideo)
def _protect_again(params, state, s, packets, lost, remaining_us):
    if 2 * remaining_us < _round_us(state.rows[s]):
        return 0
    return lost + _repairs(state.rows[s], state.plans[s], packets, lost, remaining_us)
