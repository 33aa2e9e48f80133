"""Controllers that are told the delays of packets which will be sent in the next h ms, but not which packets are lost.

**Path**: that of the least mean delay over the next h ms, of 100 at most; a change must save `MARGIN_MS`. With h = 0 it is told the delay
of the packet that leaves.

**Lag**: that of any lag rule, which hedges against what it cannot know, corrected by the delays of packets up to h ms after the newest that
arrived. It falls by `FALL` of the notice, and rises in time for what comes: a packet that needs lag n and will be
played in t ms asks for n - `PACE` t + `SPARE_MS` now. Of the lags that are asked for, the cheapest is taken: a rise by x ms takes and
gives back 10 ms in 100 ms (`vcgym.network.playout.player`), so it costs x * x in ms times ticks; a late packet costs a concealed tick.

The four numbers were chosen on training worlds of wonderproxy, mode correlated (lab/notes/headroom.md). More is never known than delays,
which do not depend on what is sent; so these are rules that run in calls, not bounds.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, record, records, rule, update
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import restart
from vcgym.network.kernels.slots import LOST, SLOT_US, microseconds
from vcgym.network.playout.quality import CONCEALED_PRICE, REDUCED_SLOPE_PER_MS

MARGIN_MS = 40.0
PACE = 0.08  # the player's pace is 0.1, in steps
SPARE_MS = 3.0  # the player moves in ticks of 10 ms
FALL = 0.05  # of each ms of notice, half of what the player can climb
PRICE = CONCEALED_PRICE / REDUCED_SLOPE_PER_MS  # of a concealed tick, in ms times ticks
_FAR_MS = 1e6  # of a packet that never arrives
_PATH_SLOTS = 10  # the mean of more says less about the packet that leaves


@rule(Control.PLAYOUT, oracle=True)
class ToldLag(NamedTuple):
    """Parameters: the lag rule, the delay of each packet in us or LOST, int32 (sessions, packets), and the horizon h."""

    lag: Any
    delay_us: NDArray[np.int32]
    ahead_ms: Annotated[int, (0, 60_000)]


@record
class Told:
    newest: int = -1  # newest packet that arrived
    now_us: int = 0  # last arrival
    smallest_us: int = 0  # minimum delay of the last 2000 ms
    lag_us: int = 0
    window: JitterWindow = JitterWindow()


_START = records(Told, 1)


class ToldLagState(NamedTuple):
    lag: Any  # state of the inner rule
    told: np.recarray  # (sessions,) of Told


@allocate.register(ToldLag)
def _allocate(params, sessions, paths):
    return ToldLagState(allocate(params.lag, sessions, paths), records(Told, sessions))


@init.register(ToldLag)
def _init(params, state, s, start, key):
    init(params.lag, state.lag, s, start, key)
    restart(state.told[s : s + 1], _START)


@update.register(ToldLag)
def _update(params, state, s, record):
    update(params.lag, state.lag, s, record)
    if record.kind == MEDIA:
        told = state.told[s]
        jitter_us = max(0, accumulated_jitter(told.window, record.sent_us, record.arrived_us))
        told.smallest_us = record.arrived_us - record.sent_us - jitter_us
        told.newest, told.now_us = max(told.newest, record.packet), record.arrived_us


@decide.register(ToldLag)
def _decide(params, state, s, now_us):
    told = state.told[s]
    lag_us = decide(params.lag, state.lag, s, now_us)
    told.lag_us = cheapest_lag(params.delay_us[s], told, lag_us, params.ahead_ms) if params.ahead_ms > 0 else lag_us
    return told.lag_us


@kernel
def cheapest_lag(delay_us, told, lag_us, ahead_ms):
    """Return the cheapest of the lags that packets ask for and the lowered lag of the inner rule, int64 us.

    Args:
        delay_us: int32 (packets,), delays or LOST.
        told: Told, which is read.
        lag_us: lag of the inner rule.
        ahead_ms: packets sent up to so many ms after the newest arrived one are told.
    """
    low_ms = max(0.0, lag_us / 1000.0 - FALL * ahead_ms)
    end = min(told.newest + 1 + ahead_ms * 1000 // SLOT_US, delay_us.size)
    best_ms, least = low_ms, _price(delay_us, told, end, 0.0, low_ms)
    for packet in range(told.newest + 1, end):
        asked_ms = _asked_ms(delay_us, told, packet)
        if asked_ms > low_ms:
            price = _price(delay_us, told, end, asked_ms - low_ms, asked_ms)
            if price < least:
                best_ms, least = asked_ms, price
    return microseconds(best_ms)


@kernel
def _asked_ms(delay_us, told, packet):
    """Return the lag that a packet asks for now; 0 if it never arrives."""
    if delay_us[packet] == LOST:
        return 0.0
    in_us = max(packet * SLOT_US + told.smallest_us + told.lag_us - told.now_us, 0)
    return (delay_us[packet] - told.smallest_us - PACE * in_us) / 1000.0 + SPARE_MS


@kernel
def _price(delay_us, told, end, rise_ms, lag_ms):
    """Return what a rise to a lag and the packets that are late with it cost, in ms times ticks."""
    late = 0
    for packet in range(told.newest + 1, end):
        late += 1 if _asked_ms(delay_us, told, packet) > lag_ms else 0
    return rise_ms * rise_ms + PRICE * late


@allocating_kernel
def told_sequence(delay_us, chance, ahead_ms):
    """Return the path of each packet (packets,) int16 that is told the next `ahead_ms` on every path.

    Args:
        delay_us: int32 (paths, packets), LOST if it never arrives.
        chance: float64 (paths, packets), probability of a loss, which is told too.
        ahead_ms: horizon; 0: the packet that leaves.
    """
    paths, packets = delay_us.shape
    ahead = min(max(ahead_ms * 1000 // SLOT_US, 1), _PATH_SLOTS)
    price_ms = np.where(delay_us == LOST, _FAR_MS, delay_us / 1000.0 + PRICE * chance)
    path, sums, using = np.empty(packets, np.int16), np.zeros(paths), -1
    for entering in range(packets + ahead - 1):
        if entering < packets:
            sums += price_ms[:, entering]
        i = entering - ahead + 1
        if i >= 0:
            cheapest = int(np.argmin(sums))
            if using < 0 or sums[cheapest] < sums[using] - MARGIN_MS * min(ahead, packets - i):
                using = cheapest
            path[i] = using
            sums -= price_ms[:, i]
    return path
