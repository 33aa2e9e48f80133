"""Quantile tables: a distribution stored as its values at fixed probabilities, so that a draw costs one look-up.

The probabilities (`PROBABILITIES`) are densest at both ends: t = 2 min(p, 1 - p) + 2^-OCTAVES has CELLS equal cells in each octave, so the
relative accuracy in the tails equals that in the middle. The table index of a draw is the exponent and the leading bits of t as a float32,
found without a branch; between two points values are interpolated linearly in p.

The Beta distribution function is the regularised incomplete beta function by its continued fraction (Abramowitz and Stegun 26.5.8,
evaluated by Lentz's method).
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import normal_quantile

OCTAVES = 16
CELLS = 32  # per octave
_SIDE_POINTS = OCTAVES * CELLS + 2  # one point beyond the median: t ends at 1 + 2^-OCTAVES
TABLE_POINTS = 2 * _SIDE_POINTS
_MAX_TERMS = 500
_TINY = 1e-300


@kernel
def beta_probability(x, a, b):
    """Return P(X <= x) for X ~ Beta(a, b), 0 <= x <= 1, a, b > 0."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _lower_probability(1.0 - x, b, a)
    return _lower_probability(x, a, b)


@kernel
def _lower_probability(x, a, b):
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        change = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-14:
            break
    return front * value


def _probabilities() -> NDArray[np.float64]:
    octave, cell = np.divmod(np.arange(_SIDE_POINTS), CELLS)
    p = 0.5 * (2.0 ** (octave - OCTAVES) * (1.0 + cell / CELLS) - 2.0**-OCTAVES)
    return np.concatenate([p, 1.0 - p])


# Probability of each table point, float64 (TABLE_POINTS,): the lower side from 0 up to the median, then the upper side from 1 down to it.
PROBABILITIES = _probabilities()
# The same for an unbounded distribution: the ends are 2^-25 and 1 - 2^-25, near the means of the tails beyond the next points.
OPEN_PROBABILITIES = np.clip(PROBABILITIES, 2.0**-25, 1.0 - 2.0**-25)

# The same cells, in bits of a float32 (23 fraction bits) made from a 31-bit integer m = t 2^31.
_MAGNITUDE = np.int32(0x7FFFFFFF)
_FIRST = np.float32(2.0 ** (31 - OCTAVES))
_FIRST_BITS = np.int32((127 + 31 - OCTAVES) << 23)
_CELL_SHIFT = np.int32(23 - int(math.log2(CELLS)))
_IN_CELL = np.int32((1 << int(_CELL_SHIFT)) - 1)
_CELL_WIDTH = np.float32(2.0 ** -int(_CELL_SHIFT))
_UPPER = np.int32(_SIDE_POINTS)
_NO_OFFSET = np.int32(0)


@kernel
def law_value(law, score, lowest, per_unit):
    """Return the value of a law at a normal score, linear between its points and constant beyond.

    `law`, float32 (points,), is at equally spaced scores, from `lowest` on, `per_unit` points per unit of score.
    """
    at = min(max((np.float32(score) - lowest) * per_unit, np.float32(0.0)), np.float32(law.size - 1))
    cell = min(np.int32(at), np.int32(law.size - 2))
    return law[cell] + (law[cell + 1] - law[cell]) * (at - np.float32(cell))


@kernel
def draw_row(table, key, first_slot, out):
    """Sample independent values for consecutive slots from `first_slot` on, which may be negative, into `out`, contiguous float32 (slots,).

    `table`, float32 (TABLE_POINTS,), has quantiles at `PROBABILITIES` or `OPEN_PROBABILITIES`, which rise with the probability.
    """
    bits_of = out.view(np.int32)
    for i in range(out.size):
        bits = rng.bits32(key, first_slot + i)
        t = np.float32(bits & _MAGNITUDE) + _FIRST
        out[i] = t if bits >= 0 else -t
    for i in range(out.size):
        t = bits_of[i] & _MAGNITUDE
        cell = np.uint32(((t - _FIRST_BITS) >> _CELL_SHIFT) + (_UPPER if bits_of[i] < 0 else _NO_OFFSET))
        low = table[cell]
        out[i] = low + (table[cell + np.uint32(1)] - low) * (np.float32(t & _IN_CELL) * _CELL_WIDTH)


@kernel
def _bisect_beta(p, a, b):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if beta_probability(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def _fill_beta(table, probabilities, low, high, a, b):
    for i in range(table.size):
        table[i] = min(low + (high - low) * _bisect_beta(probabilities[i], a, b), high)


def beta_table(low: float, high: float, a: float, b: float) -> NDArray[np.float64]:
    """Return the quantiles at `PROBABILITIES` of a Beta(a, b) scaled to [low, high]."""
    table = np.empty(TABLE_POINTS)
    _fill_beta(table, PROBABILITIES, low, high, a, b)
    table[0], table[_SIDE_POINTS] = low, high
    return table


def normal_table() -> NDArray[np.float64]:
    """Return the quantiles of the standard normal distribution at `OPEN_PROBABILITIES`."""
    return np.array([normal_quantile(p) for p in OPEN_PROBABILITIES])


def lognormal_table(base: float, log_mean: float, log_sd: float) -> NDArray[np.float64]:
    """Return the quantiles of base + lognormal at `OPEN_PROBABILITIES`."""
    return base + np.exp(log_mean + log_sd * normal_table())


def refuse_disorder(name: str, tables: NDArray[np.float64]) -> None:
    """Check that the values of tables (..., TABLE_POINTS) do not decrease with `PROBABILITIES`.

    Raises:
        ValueError: they decrease; the message names the first such point.
    """
    lower, upper = tables[..., :_SIDE_POINTS], tables[..., : _SIDE_POINTS - 1 : -1]
    for part, side in (("lower", lower), ("upper", upper)):
        falls = np.diff(side) < 0.0
        if falls.any():
            index = np.argwhere(falls)[0]
            raise ValueError(
                f"{name}, {part} side, falls after {index.tolist()}: allowed are values that rise with `quantiles.PROBABILITIES`"
            )
