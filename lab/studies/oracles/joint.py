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
1967). `courses.py` computes them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.studies.oracles.courses import best_courses
from lab.studies.oracles.seen import Seen
from vcgym.network.kernels.slots import LOST, SLOT_US

UNLIMITED = -1
START_UNITS = 200
MAX_LEVELS = 400
_NEVER = np.int16(32_000)


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
    value, path, played_tick, level, concealed = best_courses(
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
