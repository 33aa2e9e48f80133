"""Layout of observations: features are declared once; columns, shapes, spaces and the docs' tables derive from the declarations."""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class Feature(NamedTuple):
    """Number of an observation.

    Attributes:
        name: unique within its part.
        unit: unit or meaning of the value.
        low: minimum.
        high: maximum.
        age: possible age of the value at a decision.
        compress: factor of the value before its compression in relative observations (`vcgym.envs.call.features.scales.compressed`), so
            that it is of order one; 0: it is shown as it is.
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
    """Array of an observation: a row of features, or one such row per item."""

    name: str  # call, paths, slots, sender or queue
    features: tuple[Feature, ...]  # features of one item
    items: tuple[str, ...] | None = None  # names of the items; None: a single row

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape: (features,) or (items, features)."""
        return (len(self.features),) if self.items is None else (len(self.items), len(self.features))

    @property
    def flat(self) -> tuple[Feature, ...]:
        """Features of all items in order, each with the name of its item in brackets."""
        if self.items is None:
            return self.features
        return tuple(feature._replace(name=f"{feature.name}[{item}]") for item in self.items for feature in self.features)

    @property
    def space(self) -> spaces.Box:
        """Space of the part: the range of each value, float32 of `shape`."""
        low, high = (np.array([getattr(feature, end) for feature in self.flat], np.float32) for end in ("low", "high"))
        return spaces.Box(low.reshape(self.shape), high.reshape(self.shape), dtype=np.float32)


class RecordPart(NamedTuple):
    """Array of an observation that is no feature: records, or what belongs to them. Only observations by parts have it."""

    name: str  # unique in its observation
    space: spaces.Box  # space of the array
    features: tuple[Feature, ...] = ()  # none

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.space.shape

    @property
    def flat(self) -> tuple[Feature, ...]:
        """No features."""
        return self.features


class ObservationLayout:
    """Parts of an observation, in the order of a flat observation.

    Args:
        parts: the parts in order.

    Attributes:
        parts: the parts by name.
        slices: position of each part in a flat observation, by name.
        features: every feature of a flat observation, in order.
    """

    def __init__(self, *parts: ObservationPart | RecordPart) -> None:
        self.parts = {part.name: part for part in parts}
        self.features = tuple(feature for part in parts for feature in part.flat)
        ends = np.cumsum([0, *(len(part.flat) for part in parts)]).tolist()
        self.slices = {part.name: slice(ends[i], ends[i + 1]) for i, part in enumerate(parts)}

    @property
    def box(self) -> spaces.Box:
        """Space of a flat observation."""
        low, high = (np.array([getattr(feature, end) for feature in self.features], np.float32) for end in ("low", "high"))
        return spaces.Box(low, high, dtype=np.float32)

    @property
    def space(self) -> spaces.Dict:
        """Space of an observation by parts."""
        return spaces.Dict({name: part.space for name, part in self.parts.items()})

    def split(self, observations: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return views of the parts (sessions, *shape) of flat observations (sessions, features)."""
        return {name: observations[:, self.slices[name]].reshape(-1, *part.shape) for name, part in self.parts.items()}
