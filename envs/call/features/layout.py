"""Features and layout of observations: declared once; columns, shapes, spaces and the docs' tables derive from the declarations.

Units and ranges: delays in 100 ms, ages in seconds, lags and rates as positions on a log scale; small values compressed.
"""

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel

LIMIT = 20.0
PER_100_MS, PER_SECOND = 0.01, 1e-6  # factors, since a division costs as much as the rest of a feature

PER_20_MS = 5.0  # from 100 ms
DELAY, SHARE, AGE = (PER_20_MS, "20 ms"), (100.0, "percent"), (5.0, "200 ms")  # factor and unit of values that are compressed

MIN_LAG_US, MAX_LAG_US = 10_000, 1_000_000
LAG_RATIO_LOG = math.log(MAX_LAG_US / MIN_LAG_US)


class Feature(NamedTuple):
    """Number of an observation.

    Attributes:
        name: unique within its part.
        unit: unit or meaning of the value.
        low: minimum.
        high: maximum.
        age: possible age of the value at a decision.
        compress: factor of the value before its compression in relative observations (`compressed`), so that it is of order one; 0: it is
            shown as it is.
        compressed_unit: unit after that; "": `unit`.
    """

    name: str
    unit: str
    low: float
    high: float
    age: str
    compress: float = 0.0
    compressed_unit: str = ""


def compressed_features(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return features as relative observations show them."""
    return tuple(
        one._replace(unit=f"{one.compressed_unit or one.unit}, compressed", low=max(one.low, -1), high=1) if one.compress else one
        for one in features
    )


def factors(features: Sequence[Feature]) -> NDArray[np.float64]:
    """Return the factor of each feature before its compression."""
    return np.array([feature.compress for feature in features])


def columns(features: Sequence[Feature]) -> Any:
    """Return the column of each feature as a named tuple, whose fields are constants in kernels.

    >>> columns([Feature("newest_delay", "100 ms", 0, 20, "0"), Feature("peak_0.5s", "100 ms", 0, 20, "0")])
    Columns(newest_delay=0, peak_0_5s=1)
    """
    names = [feature.name.replace(".", "_") for feature in features]
    return namedtuple("Columns", names)(*range(len(names)))


class ObservationPart(NamedTuple):
    """Array of an observation: a row of features, or one such row per item; in observations by parts also arrays that are no features."""

    name: str  # call, paths, slots, sender or queue
    features: tuple[Feature, ...] = ()  # features of one item
    items: tuple[str, ...] | None = None  # names of the items; None: a single row
    box: spaces.Box | None = None  # space of an array that is no feature

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape: (features,), (items, features), or that of the box."""
        if self.box is not None:
            return self.box.shape
        return (len(self.features),) if self.items is None else (len(self.items), len(self.features))

    @property
    def flat(self) -> tuple[Feature, ...]:
        """Features of all items in order, each with the name of its item in brackets."""
        if self.items is None:
            return self.features
        return tuple(feature._replace(name=f"{feature.name}[{item}]") for item in self.items for feature in self.features)

    @property
    def space(self) -> spaces.Box:
        """Space of the part: the range of each value, float32 of `shape`, or the box."""
        return bounds(self.flat, self.shape) if self.box is None else self.box


def bounds(features: Sequence[Feature], shape: tuple[int, ...]) -> spaces.Box:
    """Return the space of an array of features, float32 of `shape`."""
    low, high = (np.array([getattr(feature, end) for feature in features], np.float32).reshape(shape) for end in ("low", "high"))
    return spaces.Box(low, high, dtype=np.float32)


class ObservationLayout:
    """Parts of an observation, in the order of a flat observation.

    Args:
        parts: the parts in order.

    Attributes:
        parts: the parts by name.
        slices: position of each part in a flat observation, by name.
        features: every feature of a flat observation, in order.
    """

    def __init__(self, *parts: ObservationPart) -> None:
        self.parts = {part.name: part for part in parts}
        self.features = tuple(feature for part in parts for feature in part.flat)
        ends = np.cumsum([0, *(len(part.flat) for part in parts)]).tolist()
        self.slices = {part.name: slice(ends[i], ends[i + 1]) for i, part in enumerate(parts)}

    @property
    def box(self) -> spaces.Box:
        """Space of a flat observation."""
        return bounds(self.features, (len(self.features),))

    @property
    def space(self) -> spaces.Dict:
        """Space of an observation by parts."""
        return spaces.Dict({name: part.space for name, part in self.parts.items()})

    def split(self, observations: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return views of the parts (sessions, *shape) of flat observations (sessions, features)."""
        return {name: observations[:, self.slices[name]].reshape(-1, *part.shape) for name, part in self.parts.items()}


@kernel
def within(value, low, high):
    """Return `value` clipped to [low, high]."""
    return min(max(value, low), high)


@kernel
def compressed(value):
    """Return a value compressed to -1..1; small values hardly change."""
    exact = np.float64(value)  # with a float32, Python and compiled code would round at other places
    return exact / math.sqrt(1.0 + exact * exact)


@kernel
def lag_position(lag_us):
    """Return the position of a lag on the log scale, -1 (10 ms or less) to 1 (1 s or more)."""
    inside = min(max(lag_us, MIN_LAG_US), MAX_LAG_US)
    return 2.0 * math.log(inside / MIN_LAG_US) / LAG_RATIO_LOG - 1.0


@kernel
def rate_position(bps, min_bps, max_bps):
    """Return the position of a rate on the log scale between two rates, -1 (`min_bps` or less) to 1 (`max_bps` or more)."""
    if max_bps <= min_bps:
        return 0.0
    inside = min(max(bps, min_bps), max_bps)
    return 2.0 * math.log(inside / min_bps) / math.log(max_bps / min_bps) - 1.0
