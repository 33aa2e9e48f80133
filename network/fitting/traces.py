"""Fit of measured traces, one per path, to the quantile tables L and E of `vcgym.network.worlds.regimes`, in five steps.

1. A trace is cut into windows of `PROBES` times its usual spacing. The level of a window is the 10 % quantile of its delays, the excess of
   a delay is what it has above that.
2. The regimes are `SHARES` of the windows by the range from the 10 % to the 90 % quantile of their delays, which an outlier does not
   change. The chance of each change of regime is counted.
3. L[r] holds the quantiles of the levels in regime r, E[r, c] those of the excess after one in cell c, at `PROBABILITIES`.
4. `kept` is the correlation of the scores of neighbouring windows, within their regimes. The excess may change as often as the closest
   probes follow each other. `held` is the probability at which drawn worlds, probed at the slots of the trace, have the step of the usual
   window that the trace has (a method of simulated moments).
5. Losses are counted by regime; a window with too few answers belongs to the regime before it.

Left out: what paths have in common, and what lies between two probes: the spacing of the trace bounds the jitter that is measured.
"""

from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.fitting.laws import OF_WORLD, RegimePath, laws_of, parameters_of
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.coverage import SlotCoverage, coverage, is_gap, parts
from vcgym.network.traces.trace import Trace, to_slots
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.regimes import CELLS, PROBABILITIES, REGIMES
from vcgym.network.worlds.world import WorldDraw, blocks

PROBES = 50
"""Probes of a window; one with fewer than half of them answered has no level of its own."""
MIN_WINDOWS = 5 * REGIMES
SHARES = 0.25, 0.25, 0.2, 0.15, 0.1, 0.05
"""Share of the windows in each regime: the widest are few, so that what happens in them is not drawn in every sixth window."""
LEVEL_QUANTILE = 0.1
CLOSE_QUANTILE = 0.1
"""The excess may change as often as this quantile of the spacing of probes."""
CELL_PROBABILITIES = 1.0 - (1.0 - np.arange(1, CELLS) / CELLS) ** 1.6
"""Probabilities of the borders of the cells among the excesses of a regime: closer where the excesses are large."""
_UNSEEN = 0.3  # windows of changes that were not seen, per regime
_ROUNDS, _POWER = 6, 1.2  # of the search for `held`
_HIGHEST_HELD = 0.95
_SEARCHED_SLOTS = 100_000
_DIGITS = 5


class Observed(NamedTuple):
    """Trace as slots of a call."""

    name: str  # name in errors
    delay_us: NDArray[np.int64]  # int64 (slots,), one-way delay or LOST
    answered: NDArray[np.bool_]  # bool (slots,), slots with an answered probe
    known: NDArray[np.bool_]  # bool (slots,), slots outside gaps
    coverage: SlotCoverage  # spacing of the probes

    @property
    def values_ms(self) -> NDArray[np.float64]:
        """Return the delay of each answered probe in ms."""
        return self.delay_us[self.answered] / 1000.0

    @property
    def loss(self) -> tuple[float, float]:
        """Return the share of slots lost and the mean run in slots (0 without losses)."""
        return loss_of(self.delay_us[self.known] == LOST)


def observed(name: str, trace: Trace) -> Observed:
    """Return a trace as slots; losses after the last answer do not count."""
    delay_us = to_slots(trace)
    delay_us = delay_us[: int(np.flatnonzero(delay_us != LOST)[-1]) + 1]
    answered, known = np.zeros(len(delay_us), bool), np.zeros(len(delay_us), bool)
    slot = trace.sent_us[trace.one_way_delay_us != LOST] // SLOT_US
    answered[slot[slot < len(delay_us)]] = True
    for first, end in parts(trace.sent_us):
        known[first:end] = True
    return Observed(name, delay_us, answered & (delay_us != LOST), known, coverage(trace.sent_us))


def loss_of(lost: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the share of lost slots (slots,) and their mean run in slots."""
    runs = int(np.count_nonzero(np.diff(lost.astype(np.int8), prepend=0) == 1))
    return float(lost.mean()), float(lost.sum() / runs) if runs else 0.0


def step_ms(values_ms: NDArray[np.float64]) -> float:
    """Return the mean size of the step between neighbouring probes (n,)."""
    return float(np.abs(np.diff(values_ms)).mean())


def drawn_us(laws: tuple[RegimePath, ...], slots: int, lossless: bool, seed: int = 0) -> NDArray[np.int64]:
    """Sample a world of the paths; return (paths, slots) of one-way delays in microseconds or LOST."""
    world = LinkWorld(laws_of(laws), 1, np.arange(len(laws))[:, None])
    parameters = parameters_of(laws, OF_WORLD) | {"law": np.arange(len(laws)), "lossless": lossless}
    world.start(0, WorldDraw("drawn", "fitted", seed, parameters))
    return np.concatenate([*blocks(world, slots)], axis=1)[:, :slots].astype(np.int64)


class _Windows(NamedTuple):
    """Windows of a trace with enough answers: their numbers, delays, levels (n,) and regimes (n,)."""

    slots: int
    numbers: NDArray[np.int64]
    values_ms: list[NDArray[np.float64]]
    level_ms: NDArray[np.float64]
    regime: NDArray[np.int64]


def fit_path(path: Observed) -> RegimePath:
    """Fit one path.

    Raises:
        DataError: fewer than MIN_WINDOWS windows hold enough answers.
    """
    windows, every = _cut(path), max(int(np.quantile(_spacing(path), CLOSE_QUANTILE)), 1)
    edges, excess = zip(*(_excess(windows, regime) for regime in range(REGIMES)), strict=True)
    levels = [windows.level_ms[windows.regime == regime] for regime in range(REGIMES)]
    _, run = path.loss
    loss = _loss(path, windows)
    law = RegimePath(
        every_slots=every, window_slots=windows.slots, change=_rounded(_change(windows)), level_ms=_rounded(map(_law, levels)),
        edges_ms=_rounded(edges), excess_ms=tuple(map(_rounded, excess)), kept=_kept(windows), held=0.0, loss=tuple(loss),
        loss_run=max(run * (1.0 - max(loss)), 1.0),
    )  # fmt: skip
    return law.model_copy(update={"held": _held(path, law)})


def _spacing(path: Observed) -> NDArray[np.int64]:
    """Return the slots between neighbouring answered probes without gaps."""
    spacing = np.diff(np.flatnonzero(path.answered))
    return spacing[~is_gap(spacing * SLOT_US)]


def _cut(path: Observed) -> _Windows:
    slots, values = np.flatnonzero(path.answered), path.values_ms
    window = max(round(PROBES * float(_spacing(path).mean())), 1)
    numbers, first, counts = np.unique(slots // window, return_index=True, return_counts=True)
    enough = counts >= PROBES // 2
    if enough.sum() < MIN_WINDOWS:
        allowed = f"at least {MIN_WINDOWS}, {MIN_WINDOWS * PROBES} probes"
        raise DataError(f"trace {path.name}", f"windows of {PROBES} probes with {PROBES // 2} answers", int(enough.sum()), allowed)
    cut = [values[at : at + count] for at, count in zip(first[enough], counts[enough], strict=True)]
    level, high = np.array([np.quantile(one, (LEVEL_QUANTILE, 1.0 - LEVEL_QUANTILE)) for one in cut]).T
    return _Windows(window, numbers[enough], cut, level, np.searchsorted(np.cumsum(SHARES[:-1]) * len(cut), _ranks(high - level) + 0.5))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def _change(windows: _Windows) -> NDArray[np.float64]:
    """Return the chance of each next regime, (REGIMES, REGIMES); one that was never seen keeps a small chance."""
    neighbours = np.flatnonzero(np.diff(windows.numbers) == 1)
    found = np.full((REGIMES, REGIMES), _UNSEEN / REGIMES)
    np.add.at(found, (windows.regime[neighbours], windows.regime[neighbours + 1]), 1.0)
    return found / found.sum(axis=1, keepdims=True)


def _excess(windows: _Windows, regime: int) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the borders of the cells, (CELLS - 1,), and the law of the excess after each cell."""
    of_regime = [windows.values_ms[n] - windows.level_ms[n] for n in np.flatnonzero(windows.regime == regime)]
    before, after = np.concatenate([one[:-1] for one in of_regime]), np.concatenate([one[1:] for one in of_regime])
    edges = np.quantile(before, CELL_PROBABILITIES)
    cell = np.searchsorted(edges, before, "right")
    found = [after[cell == number] for number in range(CELLS)]
    return edges, [_law(one if len(one) else after) for one in found]


def _kept(windows: _Windows) -> float:
    """Return the correlation of the scores of level of neighbouring windows, each within its regime, 0 to 1."""
    scores = np.empty(len(windows.regime))
    for regime in range(REGIMES):
        of_regime = np.flatnonzero(windows.regime == regime)
        shares = (_ranks(windows.level_ms[of_regime]) + 0.5) / len(of_regime)
        scores[of_regime] = [NormalDist().inv_cdf(share) for share in shares]
    neighbours = np.flatnonzero(np.diff(windows.numbers) == 1)
    found = float((scores[neighbours] * scores[neighbours + 1]).mean() / (scores**2).mean()) if len(neighbours) else 0.0
    return float(f"{np.clip(found, 0.0, 1.0):.{_DIGITS}g}")


def _loss(path: Observed, windows: _Windows) -> list[float]:
    """Return the share of slots lost in each regime."""
    number = np.arange(len(path.delay_us)) // windows.slots
    last = np.maximum(np.searchsorted(windows.numbers, number, "right") - 1, 0)
    regime, lost = windows.regime[last], path.known & (path.delay_us == LOST)
    losses, known = (np.bincount(regime[which], minlength=REGIMES) for which in (lost, path.known))
    return [float(f"{share:.{_DIGITS}g}") for share in (losses / np.maximum(known, 1)).tolist()]


def _law(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.quantile(values, PROBABILITIES)


def _rounded(rows: Iterable[NDArray[np.float64]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(f"{value:.{_DIGITS}g}") for value in row) for row in rows)


def _held(path: Observed, law: RegimePath) -> float:
    """Return the chance of a held excess with which drawn worlds have the step of the path in its usual window."""
    wanted, held = _usual_step_ms(path.values_ms), 0.0
    probed = np.resize(path.answered, max(_SEARCHED_SLOTS, len(path.answered)))
    for seed in range(_ROUNDS if wanted > 0.0 else 0):
        found = drawn_us((law.model_copy(update={"held": held}),), len(probed), lossless=True, seed=seed)
        ratio = wanted / max(_usual_step_ms(found[0, probed] / 1000.0), 1e-9)
        held = float(np.clip(1.0 - (1.0 - held) * ratio**_POWER, 0.0, _HIGHEST_HELD))
    return float(f"{held:.{_DIGITS}g}")


def _usual_step_ms(values_ms: NDArray[np.float64]) -> float:
    """Return the median over windows of the mean step between neighbouring probes (n,), which a few outliers do not change."""
    windows = values_ms[: len(values_ms) // PROBES * PROBES].reshape(-1, PROBES)
    return float(np.median(np.abs(np.diff(windows, axis=1)).mean(axis=1)))
