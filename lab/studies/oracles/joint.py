"""Dynamic program over path and playout level, clocked accounting: the minimum mean of delay plus priced concealment in hindsight.

The player is that of `vcgym.network.playout.player` without the restrictions that keep a policy from its optimum. At tick t it is at level
q (offset P = 10 q ms) before unit u = t - q, whose packet was sent on path p. A tick costs its level and `price` per concealed unit, and
is one of

    play   u is consumed at the same level; it is concealed with the probability that its packet is lost, or certainly if it has not arrived
    wait   concealment, u remains and the level rises by one: this is how a level jumps
    slow   no concealment, u remains and the level rises by one; u must have arrived
    fast   u and u + 1 are played, the level falls by one; both must have arrived

Slow and fast together occur at most once in ten ticks (in the player, once per 100 ms). The path may change before each unit, at most
`changes` times in the call (or without limit). The call starts at any level with the first unit, or with a later one, up to two seconds, if
all earlier units could still be in flight then. It ends with the last unit.

Every course of the real player under any policy corresponds to a course here at no higher cost, except jumps from more than one second
above the target (see `rating.py`). The highest level represents all higher levels: there every packet that ever arrives counts as arrived,
so a limit on levels never makes a minimum too large; `Plan.at_top` counts the ticks of a plan at this level.

Sums are of cost - `mean` per tick in float32; the minimum sum is zero if `mean` is the minimum mean (Dinkelbach, Management Science 13,
1967).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.studies.oracles.seen import Seen
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import LOST, SLOT_US

UNLIMITED = -1
START_UNITS = 200
MAX_LEVELS = 400
_BLOCK = 10  # ticks that share one operation
_CHUNK = 64  # ticks between stored tables
_NEVER = np.int16(32_000)
_FAR = np.float32(1e30)
_PLAY, _WAIT, _SLOW, _FAST = 0, 1, 2, 3


class Stage(NamedTuple):
    """Seen world in levels; units are stored in reverse, so that a step of level and a step of unit both advance the index by one.

    Attributes:
        need: int16 (paths, units + 2 margins), first level at which a packet has arrived, minus `lowest`; _NEVER if there is none.
        chance: float32, same shape, probability that the packet is lost.
        start_top: int64 (at most START_UNITS,), highest level, minus `lowest`, at which the call may start with this unit.
        lowest: level below which no packet has ever arrived.
        levels: number of levels.
        units: number of units in the call.
        margin: number of entries before the last unit.
    """

    need: NDArray[np.int16]
    chance: NDArray[np.float32]
    start_top: NDArray[np.int64]
    lowest: int
    levels: int
    units: int
    margin: int


class Plan(NamedTuple):
    """Solution of the dynamic program for a call of T ticks.

    Attributes:
        value: minimum sum of cost - mean, in levels.
        path: int16 (units,), path of each unit.
        played_tick: int64 (units,), tick at which the unit is played; -1: never.
        level: int64 (T,), level of each tick.
        concealed: float64 (T,), expected concealed units of each tick.
        at_top: number of ticks that play a unit at the highest level, which represents all higher ones.
    """

    value: float
    path: NDArray[np.int16]
    played_tick: NDArray[np.int64]
    level: NDArray[np.int64]
    concealed: NDArray[np.float64]
    at_top: int

    @property
    def delay_ms(self) -> float:
        """Mean offset over the ticks."""
        return float(self.level.mean()) * SLOT_US / 1000.0

    @property
    def share(self) -> float:
        """Expected share of ticks concealed."""
        return float(self.concealed.mean())


def needed_levels(seen: Seen) -> NDArray[np.int64]:
    """Return (paths, units) the first level at which a packet has arrived; -1 if it never arrives."""
    return np.where(seen.delay_us == LOST, -1, -(-seen.delay_us.astype(np.int64) // SLOT_US))


def stage(seen: Seen, levels: int | None = None) -> Stage:
    """Prepare a world; `levels` None: enough for 99.5 % of the packets of the best fixed path, plus a margin."""
    need = needed_levels(seen)
    arrives = need >= 0
    paths, units = need.shape
    if not arrives.any():
        raise ValueError(f"nothing arrives on any of {paths} paths in {units} slots; an oracle needs a packet that can arrive")
    lowest = int(need[arrives].min())
    if levels is None:
        high_ms = [np.quantile(row[ok], 0.995) if ok.mean() > 0.5 else np.inf for row, ok in zip(need, arrives, strict=True)]
        best = min(high_ms) if np.isfinite(min(high_ms)) else float(need[arrives].max())
        levels = int(min(max(best - lowest + 8, 12), MAX_LEVELS))
    margin = levels + 2
    laid = np.full((paths, units + 2 * margin), _NEVER, np.int16)
    laid[:, margin : margin + units] = np.where(arrives, np.minimum(need - lowest, levels - 1), _NEVER)[:, ::-1]
    chance = np.ones(laid.shape, np.float32)
    chance[:, margin : margin + units] = seen.chance[:, ::-1]
    return Stage(laid, chance, _start_tops(need, lowest, levels), lowest, levels, units, margin)


def _start_tops(need: NDArray[np.int64], lowest: int, levels: int) -> NDArray[np.int64]:
    """Return the start levels by first unit u: a start at level q needs each unit v < u in flight on some path, v + need > u + q."""
    slowest = np.where((need < 0).any(axis=0), 1 << 30, need.max(axis=0))[:START_UNITS]
    tops = [levels - 1]
    latest = 1 << 30
    for unit in range(1, len(slowest)):
        latest = min(latest, unit - 1 + int(slowest[unit - 1]))
        tops.append(min(latest - unit - 1 - lowest, levels - 1))
    return np.array(tops[: np.flatnonzero(np.array(tops) >= 0)[-1] + 1])


def solve(
    stage: Stage, price: float, mean: float, changes: tuple[int, ...], later_price: float | None = None, split: int = 0
) -> list[Plan]:  # fmt: skip
    """Return the plans of minimum sum for several limits on path changes.

    Args:
        stage: the prepared world.
        price: price of one concealed tick, in levels.
        mean: subtracted from the cost of each tick, in levels.
        changes: limits on path changes in the call, ascending; UNLIMITED may be the last.
        later_price: price from tick `split` of the call on; None: the same.
        split: tick from which `later_price` applies.
    """
    limited = [k for k in changes if k != UNLIMITED]
    layers = (max(limited) + 1 if limited else 0) + (UNLIMITED in changes)
    free = UNLIMITED in changes
    ask = np.array([layers - 1 if k == UNLIMITED else k for k in changes], np.int64)
    # float32 is accurate enough if the cost common to all ticks is subtracted first.
    value, path, played_tick, level, concealed = _solve(
        stage.need, stage.chance, stage.start_top, stage.levels, stage.units, stage.margin, np.float32(stage.lowest - mean),
        np.float32(price), np.float32(price if later_price is None else later_price), split - stage.lowest, layers, free, ask,
    )  # fmt: skip
    return [_plan(stage, *found) for found in zip(value, path, played_tick, level, concealed, strict=True)]


def _plan(
    stage: Stage, value: float, path: NDArray[np.int16], played_tick: NDArray[np.int64], level: NDArray[np.int16], concealed: NDArray[Any]
) -> Plan:  # fmt: skip
    """Return the plan from the kernel's output, whose levels and ticks begin at the lowest level."""
    heard, at = played_tick >= 0, level >= 0
    waited = played_tick[heard] - np.flatnonzero(heard)
    played_tick = np.where(heard, played_tick + stage.lowest, -1)
    levels = level[at].astype(np.int64) + stage.lowest
    return Plan(float(value), path, played_tick, levels, concealed[at].astype(np.float64), int((waited == stage.levels - 1).sum()))


@kernel
def _with_change(current, switched, best, free):
    """Fill `switched` from tables (layers, paths, positions): the value before a unit whose path may differ from the previous unit's."""
    layers, paths, places = current.shape
    for k in range(layers):
        # Layer k has k changes left, and a change leads to the layer below; in a free last layer changes are not counted.
        source = k if free and k == layers - 1 else k - 1
        for j in range(places):
            best[j] = _FAR
        for p in range(paths if source >= 0 else 0):
            for j in range(places):
                best[j] = min(best[j], current[source, p, j])
        for p in range(paths):
            for j in range(places):
                switched[k, p, j] = min(current[k, p, j], best[j])


@kernel
def _pair_value(need, chance, switched, first, levels, price, pair):
    """Write the value of playing the second unit of a fast tick on each path, one level lower: (layers, paths, positions)."""
    for k in range(pair.shape[0]):
        for p in range(pair.shape[1]):
            pair[k, p, 0] = _FAR
            pair[k, p, 1] = _FAR
            pair[k, p, levels + 1] = _FAR
            for q in range(1, levels):
                in_time = need[p, first - 1 + q] <= q - 1
                pair[k, p, q + 1] = switched[k, p, q] + price * chance[p, first - 1 + q] if in_time else _FAR


@allocating_kernel
def _step(need, chance, units, margin, levels, base, price, tick, free, later, current, scratch, best):
    """Solve one tick: compute `current` (2, layers, paths, positions) from `later`; position q + 1 holds level q.

    Scratch buffers: scratch (4, layers, paths, positions), best (positions,).
    """
    layers, paths = current.shape[1], current.shape[2]
    # The first tick of a block makes an operation available again.
    fresh = (tick + 1) % _BLOCK == 0
    spent = later[0] if fresh else later[1]
    _with_change(later[0], scratch[0], best, free)
    if fresh:
        scratch[1, :, :, :] = scratch[0]
    else:
        _with_change(spent, scratch[1], best, free)
    first = margin + units - 1 - tick  # index of the unit at level 0; the unit at level q is at index + q
    _pair_value(need, chance, scratch[1], first, levels, price, scratch[2])
    _with_change(scratch[2], scratch[3], best, free)
    first_played = tick - units + 1  # lower levels are past the last unit
    for k in range(layers):
        for p in range(paths):
            ready, used = current[0, k, p], current[1, k, p]
            play0, play1 = scratch[0, k, p], scratch[1, k, p]
            wait0, wait1, pair = later[0, k, p], spent[k, p], scratch[3, k, p]
            for q in range(levels):
                in_time = need[p, first + q] <= q
                lost = price * chance[p, first + q]
                cost = base + np.float32(q)
                played = cost + (lost if in_time else price)
                waited = cost + price
                # `one`: the block's operation is used up; `two`: it is available and kept. A wait leads one level up, a played unit stays
                # at its level.
                one = min(played + play1[q + 1], waited + wait1[q + 2])
                two = min(played + play0[q + 1], waited + wait0[q + 2])
                # Slow or fast; `pair` holds the second unit of a fast tick, one level lower.
                operated = min(cost + wait1[q + 2], cost + lost + pair[q + 1])
                used[q + 1] = one
                ready[q + 1] = min(two, operated if in_time else _FAR)
            # Nothing is left to play at these levels, so nothing costs any more.
            for j in range(max(0, min(first_played, levels)) + 1):
                ready[j] = np.float32(0.0)
                used[j] = np.float32(0.0)
            ready[levels + 1] = _FAR
            used[levels + 1] = _FAR


@allocating_kernel
def _choice(need, chance, units, margin, levels, base, price, tick, free, later, q, p, k, f):
    """Return the best move from a state and its successor: (move, path of the next unit, layer, path of the unit after a fast one)."""
    fresh = (tick + 1) % _BLOCK == 0
    spent = later[0] if fresh else later[1]
    first = margin + units - 1 - tick
    in_time = need[p, first + q] <= q
    lost = price * chance[p, first + q]
    cost = base + np.float32(q)
    play = later[0] if f == 0 else spent
    played = cost + (lost if in_time else price)
    path, layer, best = _best_path(play, q + 1, p, k, free)
    best += played
    move, then_path, then_layer = _PLAY, path, layer
    if cost + price + play[k, p, q + 2] < best:
        best, move, path, layer = cost + price + play[k, p, q + 2], _WAIT, p, k
    if f == 0 and in_time:
        if cost + spent[k, p, q + 2] < best:
            best, move, path, layer = cost + spent[k, p, q + 2], _SLOW, p, k
        if q > 0:
            for p1 in range(need.shape[0]):
                k1 = k if p1 == p or (free and k == later.shape[1] - 1) else k - 1
                if k1 >= 0 and need[p1, first - 1 + q] <= q - 1:
                    p2, k2, after = _best_path(spent, q, p1, k1, free)
                    value = cost + lost + (after + price * chance[p1, first - 1 + q])
                    if value < best:
                        best, move, path, then_path, then_layer = value, _FAST, p1, p2, k2
    if move == _FAST:
        return move, path, then_layer, then_path
    return move, path, layer, then_path


@kernel
def _best_path(table, position, p, k, free):
    """Return the best path of the next unit and the layer after it, from path p and layer k, and the value."""
    path, layer, best = p, k, table[k, p, position]
    source = k if free and k == table.shape[0] - 1 else k - 1
    if source >= 0:
        for other in range(table.shape[1]):
            if table[source, other, position] < best:
                path, layer, best = other, source, table[source, other, position]
    return path, layer, best


@allocating_kernel
def _solve(need, chance, start_top, levels, units, margin, base, price, later_price, split, layers, free, ask):
    paths = need.shape[0]
    last = units - 1 + levels - 1  # tick of the last unit at the highest level
    shape = (2, layers, paths, levels + 2)
    scratch, best = np.empty((4, layers, paths, levels + 2), np.float32), np.empty(levels + 2, np.float32)
    stored = np.zeros((last // _CHUNK + 2, *shape), np.float32)  # stored[c]: the table of tick c * _CHUNK
    later, current = np.zeros(shape, np.float32), np.empty(shape, np.float32)
    later[:, :, :, levels + 1] = _FAR
    value = np.full(ask.size, np.inf)
    begin = np.zeros((ask.size, 4), np.int64)  # tick, level, path, layer
    for tick in range(last, -1, -1):
        if (tick + 1) % _CHUNK == 0 or tick == last:
            # To save memory every _CHUNK-th table is kept; the way forward computes the others again, chunk by chunk.
            stored[(tick + 1 + _CHUNK - 1) // _CHUNK] = later
        due = price if tick < split else later_price
        _step(need, chance, units, margin, levels, base, due, tick, free, later, current, scratch, best)
        for q in range(max(0, tick - start_top.size + 1), min(levels, tick + 1)):
            if q <= start_top[tick - q]:
                for n in range(ask.size):
                    for p in range(paths):
                        if current[0, ask[n], p, q + 1] < value[n]:
                            value[n] = current[0, ask[n], p, q + 1]
                            begin[n, :] = (tick, q, p, ask[n])
        later, current = current, later
    path = np.full((ask.size, units), -1, np.int16)
    played_tick = np.full((ask.size, units), -1, np.int64)
    level, concealed = np.full((ask.size, last + 1), -1, np.int16), np.zeros((ask.size, last + 1), np.float32)
    at, used = begin.copy(), np.zeros(ask.size, np.int64)
    for n in range(ask.size):
        # Units before the first played one were never due; they count as sent on the same path.
        path[n, : begin[n, 0] - begin[n, 1] + 1] = begin[n, 2]
    chunk = np.empty((_CHUNK + 1, *shape), np.float32)
    for c in range(last // _CHUNK + 1):
        low, high = c * _CHUNK, min((c + 1) * _CHUNK, last + 1)
        chunk[high - low] = stored[c + 1]
        for tick in range(high - 1, low - 1, -1):
            due = price if tick < split else later_price
            _step(need, chance, units, margin, levels, base, due, tick, free, chunk[tick + 1 - low], chunk[tick - low], scratch, best)
        for n in range(ask.size):
            for tick in range(max(low, begin[n, 0]), high):
                if tick - at[n, 1] < units:
                    used[n] = 0 if tick % _BLOCK == 0 else used[n]
                    table = chunk[tick + 1 - low]
                    due = price if tick < split else later_price
                    _follow(
                        need, chance, units, margin, levels, base, due, tick, free, table, at[n], used, n, path[n], played_tick[n],
                        level[n], concealed[n],
                    )  # fmt: skip
    return value, path, played_tick, level, concealed


@allocating_kernel
def _follow(
    need, chance, units, margin, levels, base, price, tick, free, table, at, used, n, path, played_tick, level, concealed
):  # fmt: skip
    """Follow one tick of the best course from state `at` (start tick, level, path, layer) and record it."""
    q, p = at[1], at[2]
    unit = tick - q
    position = margin + units - 1 - unit
    move, after, layer, then = _choice(need, chance, units, margin, levels, base, price, tick, free, table, q, p, at[3], used[n])
    level[tick] = q
    if move == _WAIT:
        concealed[tick] = 1.0
    elif move != _SLOW:
        in_time = need[p, position] <= q
        concealed[tick] = chance[p, position] if in_time else 1.0
        played_tick[unit] = tick if in_time else -1
    if move == _FAST:
        concealed[tick] += chance[after, position - 1]
        played_tick[unit + 1] = tick
        path[unit + 1] = after
        at[1] = q - 1
        unit += 2
        after = then
    elif move == _PLAY:
        unit += 1
    else:
        at[1] = q + 1
    if move in (_SLOW, _FAST):
        used[n] = 1
    if unit < units:
        path[unit] = after
    at[2], at[3] = after, layer
