"""Counters of a call: totals of the clocked accounting, 10-second windows, and a log of each packet, all in integers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.playout import player as players
from vcgym.network.playout.quality import LOSS_PRICE, REDUCED_KNEE_MS, emission_reward, emodel_return, impairment_sum, rating

WINDOW_TICKS = 1000  # 10 s
LONG_RUN_TICKS = 6  # concealment longer than 60 ms loses a syllable
NOT_LOGGED = -1  # equal to LOST
_KNEE_US = int(1000 * REDUCED_KNEE_MS)


@record
class Counters:
    """Counters of a call."""

    plans_sent: int = 0
    path_changes: int = 0
    probes_sent: int = 0
    ticks_played: int = 0
    ticks_stretched: int = 0
    ticks_concealed: int = 0
    ticks_silent: int = 0
    offset_us_sum: int = 0
    excess_us_sum: int = 0  # sum of offsets above the knee of the delay impairment
    conceal_runs: int = 0
    conceal_longest_ticks: int = 0
    conceal_runs_long: int = 0
    running_conceal_ticks: int = 0
    last_path: int = -1
    window: int = 0  # the current 10-s window; below, the totals at its start
    window_ticks: int = 0
    window_concealed: int = 0
    window_offset_us: int = 0


@record
class PacketLog:
    """Outcome of a packet."""

    path: np.int16 = np.int16(NOT_LOGGED)
    arrived_us: int = NOT_LOGGED
    emitted_us: int = NOT_LOGGED
    flushed: np.bool_ = np.False_
    played_us: int = NOT_LOGGED


class Totals(NamedTuple):
    """Totals of calls over paths; arrays (sessions,)."""

    plans_sent: NDArray[np.int64]
    path_changes: NDArray[np.int64]
    probes_sent: NDArray[np.int64]
    ticks_played: NDArray[np.int64]
    ticks_stretched: NDArray[np.int64]
    ticks_concealed: NDArray[np.int64]
    ticks_silent: NDArray[np.int64]
    offset_us_sum: NDArray[np.int64]
    impairment_sum: NDArray[np.float64]
    return_emodel: NDArray[np.float64]
    return_event: NDArray[np.float64]
    conceal_runs: NDArray[np.int64]
    conceal_longest_ticks: NDArray[np.int64]
    conceal_runs_long: NDArray[np.int64]


@kernel
def count_sent(counters, log, s, packet, path, arrives_us):
    """Count a packet that goes onto a path; `arrives_us`: its arrival, or LOST. A `log` of (sessions, 0) is none."""
    if counters.last_path >= 0 and path != counters.last_path:
        counters.path_changes += 1
    counters.last_path = path
    if packet < log.shape[1]:
        log[s, packet].path = path
        log[s, packet].arrived_us = arrives_us


@kernel
def count_tick(counters, windows, log, s, kind, unit, offset_us, at_us, packet_shift):
    """Count a tick of the player at `at_us`: `kind`, `unit` and `offset_us` are those of `vcgym.network.playout.player.tick`.

    At the end of each window its row of `windows`, int64 (sessions, windows, 3), gets ticks that are not silent, concealed ticks, and the
    sum of offsets in us. A packet has 2^packet_shift units.
    """
    if kind == players.PLAYED:
        counters.ticks_played += 1
        counters.running_conceal_ticks = 0
        _log_played(log, s, unit >> packet_shift, at_us)
    elif kind == players.ENDED:
        _close_window(counters, windows, s)
        return
    elif kind == players.SILENT:
        counters.ticks_silent += 1
        return
    else:
        _count_other(counters, log, s, kind, unit, at_us, packet_shift)
    counters.offset_us_sum += offset_us
    counters.excess_us_sum += max(0, offset_us - _KNEE_US)
    # The last window takes whatever remains, however long the call is played.
    if _ticks(counters) - counters.window_ticks == WINDOW_TICKS and counters.window < windows.shape[1] - 1:
        _close_window(counters, windows, s)


@kernel
def _count_other(counters, log, s, kind, unit, at_us, packet_shift):
    if kind == players.CONCEALED:
        counters.ticks_concealed += 1
        counters.running_conceal_ticks += 1
        if counters.running_conceal_ticks == 1:
            counters.conceal_runs += 1
        if counters.running_conceal_ticks == LONG_RUN_TICKS + 1:
            counters.conceal_runs_long += 1
        counters.conceal_longest_ticks = max(counters.conceal_longest_ticks, counters.running_conceal_ticks)
        return
    counters.running_conceal_ticks = 0
    if kind == players.STRETCHED:
        counters.ticks_stretched += 1
        return
    counters.ticks_played += 1
    _log_played(log, s, unit >> packet_shift, at_us)
    _log_played(log, s, (unit + 1) >> packet_shift, at_us)


@kernel
def _log_played(log, s, packet, at_us):
    """Note the tick at which the first unit of a packet is played."""
    if packet < log.shape[1] and log[s, packet].played_us == NOT_LOGGED:
        log[s, packet].played_us = at_us


@kernel
def _ticks(counters):
    """Return the number of ticks so far that were not silent."""
    return counters.ticks_played + counters.ticks_stretched + counters.ticks_concealed


@kernel
def _close_window(counters, windows, s):
    windows[s, counters.window, 0] = _ticks(counters) - counters.window_ticks
    windows[s, counters.window, 1] = counters.ticks_concealed - counters.window_concealed
    windows[s, counters.window, 2] = counters.offset_us_sum - counters.window_offset_us
    counters.window += 1
    counters.window_ticks = _ticks(counters)
    counters.window_concealed = counters.ticks_concealed
    counters.window_offset_us = counters.offset_us_sum


def totals_of(counters: NDArray[np.void], receiver: NDArray[np.void]) -> Totals:
    """Return the totals of calls from their counters and receivers, (sessions,) of each."""
    same = {name: counters[name].copy() for name in Totals._fields if name in (counters.dtype.names or ())}
    ticks = counters["ticks_played"] + counters["ticks_stretched"] + counters["ticks_concealed"]
    impairment = impairment_sum(counters["offset_us_sum"], counters["excess_us_sum"])
    return Totals(
        **same,
        impairment_sum=impairment,
        return_emodel=emodel_return(ticks, impairment, counters["ticks_concealed"]),
        return_event=emission_reward(receiver["delay_us_sum"]) - LOSS_PRICE * receiver["missed"],
    )


def ratings_of(totals: Totals) -> NDArray[np.float64]:
    """Return the current R (sessions,) of calls, computed as on the leaderboard; 0 for a call before its first tick."""
    ticks = totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed
    sounding = np.maximum(ticks, 1)
    found = rating(totals.offset_us_sum / sounding / 1000.0, totals.ticks_concealed / sounding)
    return np.where(ticks > 0, found, 0.0)
