"""Tambur at full bandwidth (Rudow et al., NSDI 2023): repair packets of half a frame's bytes for the video of a call with an uplink.

The receiver reports every 2 s. If the last report had a loss, each frame gets repair packets of half its bytes, else none. They cover this
frame and the `before` = 3 ones before it, so that a burst can be repaired up to 3 frames later (tau of the source). With `before` = 0 the
rule is its rival Block-Within, a Reed-Solomon code within a frame, also 50 %.

Left out: the predictor that halves the repair packets, whose weights are not public; the source's split of a frame into two classes of
symbols. Named choices: whole packets, rounded up; a report counts the losses that the sender has heard of in its 2 s.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.protection.protect import MOST_BEFORE, FrameProtection, protect_frame, repair_size
from vcgym.baselines.records import NOT_ARRIVED
from vcgym.baselines.rule import Control, allocate, init, rule, update
from vcgym.network.kernels.ranges import require_within

TAMBUR = np.dtype((np.record, [("report", "i8"), ("lost", "i8"), ("lost_before", "i8")]))  # number of the report, and of losses


@rule(Control.PROTECTION)
class Tambur(NamedTuple):
    """Parameters: repair packets per packet of a frame, frames before it that they cover too, interval of reports."""

    share: float = 0.5
    before: int = 3
    every_s: float = 2.0


class TamburState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of TAMBUR


@allocate.register(Tambur)
def _allocate(params, sessions, paths):
    require_within(params, share=(0.0, 10.0), before=(0, MOST_BEFORE), every_s=(0.01, 1e6))
    return TamburState(np.zeros(sessions, TAMBUR).view(np.recarray))


@init.register(Tambur)
def _init(params, state, s, start, key):
    row = state.rows[s]
    row.report = row.lost = row.lost_before = 0


@update.register(Tambur)
def _update(params, state, s, record):
    state.rows[s].lost += 1 if record.arrived_us == NOT_ARRIVED else 0


@protect_frame.register(Tambur)
def _protect_frame(params, state, s, now_us, frame):
    row, report = state.rows[s], np.int64(now_us / (1e6 * params.every_s))
    if report > row.report:
        row.lost_before = row.lost if report == row.report + 1 else 0
        row.lost, row.report = 0, report
    repairs = int(np.ceil(params.share * frame.packets)) if row.lost_before > 0 else 0
    return FrameProtection(repairs, params.before, repair_size(frame.packets, frame.longest_bytes))
