"""Tables of the dynamic program of `joint.py`, computed from the last tick to the first, and the courses that follow them forward.

A table has for each state the minimum sum from its tick on: whether the block's operation is used up, layer (changes left), path, level.
"""

import numpy as np

from vcgym.network.kernels.jit import allocating_kernel, kernel

_BLOCK = 10  # ticks that share one operation
_CHUNK = 64  # ticks between stored tables
_FAR = np.float32(1e30)
_PLAY, _WAIT, _SLOW, _FAST = 0, 1, 2, 3


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
def best_courses(need, chance, start_top, levels, units, margin, base, price, later_price, split, layers, free, ask):
    """Return the minimum sum of each layer in `ask` and its course: path and tick of each unit, level and concealed units of each tick.

    Args:
        need: first level at which a packet has arrived, int16 (paths, units + 2 margins), in reverse as in `Stage`.
        chance: probability that a packet is lost, float32 (paths, units + 2 margins).
        start_top: highest level at which the call may start with a unit, int64.
        levels: number of levels.
        units: number of units.
        margin: entries before the last unit.
        base: cost of a tick at level 0, in levels.
        price: price of a concealed tick before tick `split`, in levels.
        later_price: price from there on.
        split: tick, counted from the lowest level.
        layers: number of limits on path changes, a layer each.
        free: whether the last layer has no limit.
        ask: int64 (plans,), layers.
    """
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
