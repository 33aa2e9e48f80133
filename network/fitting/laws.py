"""Laws of paths in scenario files, of the fit of today and of two older ones; `vcgym.network.scenarios.paths.fitted` plays them."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from vcgym.network.traces.cards import Card, Carded, Milliseconds, QueueTimes, canonical_sha256
from vcgym.network.traces.refusal import shown
from vcgym.network.worlds.correlated import MAX_LOG_SD, MAX_TAU_MS
from vcgym.network.worlds.fitted import MAX_HELD_MS, MAX_JITTER, SCORES, SLOT_MS
from vcgym.network.worlds.losses import MAX_RUN
from vcgym.network.worlds.regimes import MAX_SLOTS, RegimeLaws, checked_laws
from vcgym.network.worlds.world import MAX_LINK_US

Law = Annotated[tuple[Milliseconds, ...], Field(min_length=len(SCORES), max_length=len(SCORES))]
Jitter = Annotated[float, Field(ge=-MAX_JITTER, le=MAX_JITTER)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Run = Annotated[float, Field(ge=1.0, le=MAX_RUN)]
Slots = Annotated[int, Field(ge=1, le=MAX_SLOTS)]
Row = tuple[float, ...]


class FittedPath(QueueTimes):
    """Law of one path in files of the first fit, in one-way milliseconds: lognormal queueing of one correlation time.

    Attributes:
        loss: share of slots lost, 0 to 1.
        loss_run: L of `vcgym.network.worlds.losses`, in slots: a run of losses has L / (1 - loss) slots on average.
        tau_ms: correlation time of the queueing.
    """

    log_mean: Annotated[float, Field(le=math.log(MAX_LINK_US / 1000.0))]
    log_sd: Annotated[float, Field(gt=0.0, le=MAX_LOG_SD)]
    loss: Share
    loss_run: Run
    tau_ms: Annotated[float, Field(ge=0.0, le=MAX_TAU_MS)]


class _Law(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class JitterPath(_Law):
    """Law of one path in files of the second fit, see `vcgym.network.worlds.fitted`: laws at `SCORES`, one-way, and times, all in ms."""

    level_ms: Law
    scale_ms: Law
    jitter: Annotated[tuple[Jitter, ...], Field(min_length=len(SCORES), max_length=len(SCORES))]
    level_held_ms: Annotated[float, Field(ge=SLOT_MS, le=MAX_HELD_MS)]
    scale_held_ms: Annotated[float, Field(ge=SLOT_MS, le=MAX_HELD_MS)]
    tau_ms: Annotated[float, Field(ge=0.0, le=MAX_TAU_MS)]
    largest_ms: Milliseconds
    loss: Share
    loss_run: Run

    @model_validator(mode="after")
    def _rise(self) -> Self:
        for name in ("level_ms", "scale_ms", "jitter"):
            if any(np.diff(getattr(self, name)) < 0.0):
                raise ValueError(f"{name} falls; allowed: quantiles, which rise")
        return self


class RegimePath(_Law):
    """Law of one path, see `vcgym.network.worlds.regimes`: tables in one-way milliseconds, a row per regime.

    Attributes:
        every_slots: slots from one value of the excess to the next.
        window_slots: slots of a window, at whose end regime and level may change.
        change: chance of each next regime; a row sums to 1.
        level_ms: law of the level.
        edges_ms: borders of the cells of the last excess.
        excess_ms: law of the excess for each cell.
        kept: chance that the score of the level stays at the end of a window.
        held: chance that the excess stays when it could change.
        loss: share of slots lost in each regime.
        loss_run: L of `vcgym.network.worlds.losses`, in slots.
    """

    every_slots: Slots
    window_slots: Slots
    change: tuple[Row, ...]
    level_ms: tuple[Row, ...]
    edges_ms: tuple[Row, ...]
    excess_ms: tuple[tuple[Row, ...], ...]
    kept: Annotated[float, Field(ge=0.0, le=1.0)]
    held: Share
    loss: tuple[Share, ...]
    loss_run: Run

    @model_validator(mode="after")
    def _is_law(self) -> Self:
        laws_of([self])
        if len(self.loss) != len(self.change):
            raise ValueError(f"loss has {len(self.loss)} values; allowed: {len(self.change)}, one per regime")
        return self


def _kind(law: Any) -> str:
    """Return the name of the class of a law, from a field that no other class has."""
    if isinstance(law, BaseModel):
        return type(law).__name__
    given = law if isinstance(law, Mapping) else {}
    return next((kind.__name__ for field, kind in (("every_slots", RegimePath), ("scale_ms", JitterPath)) if field in given), "FittedPath")


PathLaw = Annotated[
    Annotated[RegimePath, Tag("RegimePath")] | Annotated[JitterPath, Tag("JitterPath")] | Annotated[FittedPath, Tag("FittedPath")],
    Discriminator(_kind),
]


class FittedScenario(Carded):
    """Content of a scenario file: the laws of the paths of each pair, in the order of `paths`; all of one kind."""

    paths: tuple[str, ...]
    pairs: dict[str, tuple[PathLaw, ...]]

    @field_validator("paths")
    @classmethod
    def _are_different(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise ValueError(f"paths has {shown(twice)} twice; allowed: each name once")
        return paths

    @model_validator(mode="after")
    def _are_alike(self) -> Self:
        if len(kinds := sorted({_kind(law) for laws in self.pairs.values() for law in laws})) > 1:
            raise ValueError(f"pairs has laws of the kinds {', '.join(kinds)}; allowed: one kind")
        return self


def laws_of(paths: Sequence[RegimePath]) -> RegimeLaws:
    """Return the laws of paths as tables of a `RegimeWorld`."""
    names = "change", "level_ms", "edges_ms", "excess_ms", "kept", "held"
    return checked_laws(*([getattr(path, name) for path in paths] for name in names))


def parameters_of(laws: Sequence[RegimePath | JitterPath | FittedPath], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return fields of laws as parameters of a world, arrays with a row per path."""
    return {name: np.array([getattr(law, name) for law in laws]) for name in names}


OF_WORLD = ("every_slots", "window_slots", "loss", "loss_run")
"""Fields of a `RegimePath` that are parameters of a world; the others are in the tables of its laws."""


def scenario_of(laws: dict[str, tuple[RegimePath, ...]], paths: tuple[str, ...], traces: str) -> FittedScenario:
    """Return the content of a scenario file with the laws of each pair; `traces` names their origin."""
    body = {"paths": list(paths), "pairs": {pair: [law.model_dump(mode="json") for law in of_pair] for pair, of_pair in laws.items()}}
    card = Card(
        name="fitted", description=f"Laws of {len(laws)} x {len(paths)} paths, fitted to traces", source=traces,
        licence="that of the traces", sha256=canonical_sha256(body), kind="fitted",
        units="one-way milliseconds; loss, chances without unit; slots of 10 ms",
    )  # fmt: skip
    return FittedScenario(card=card, paths=paths, pairs=laws)
