"""Laws of paths in scenario files; `vcgym.network.scenarios.paths.fitted` plays them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vcgym.network.traces.cards import Card, Carded, canonical_sha256
from vcgym.network.traces.refusal import shown
from vcgym.network.worlds.losses import MAX_RUN
from vcgym.network.worlds.regimes import MAX_SLOTS, RegimeLaws, checked_laws

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Run = Annotated[float, Field(ge=1.0, le=MAX_RUN)]
Slots = Annotated[int, Field(ge=1, le=MAX_SLOTS)]
Row = tuple[float, ...]


class RegimePath(BaseModel):
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

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

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

    @model_validator(mode="before")
    @classmethod
    def _is_of_this_fit(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and (field := next((name for name in ("log_mean", "scale_ms") if name in given), None)):
            raise ValueError(f"a law has {field}, so it is of an older fit; fit anew: vcgym fit")
        return given

    @model_validator(mode="after")
    def _is_law(self) -> Self:
        laws_of([self])
        if len(self.loss) != len(self.change):
            raise ValueError(f"loss has {len(self.loss)} values; allowed: {len(self.change)}, one per regime")
        return self


class FittedScenario(Carded):
    """Content of a scenario file: the laws of the paths of each pair, in the order of `paths`."""

    paths: tuple[str, ...]
    pairs: dict[str, tuple[RegimePath, ...]]

    @field_validator("paths")
    @classmethod
    def _are_different(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise ValueError(f"paths has {shown(twice)} twice; allowed: each name once")
        return paths


def laws_of(paths: Sequence[RegimePath]) -> RegimeLaws:
    """Return the laws of paths as tables for a `LinkWorld`."""
    names = "change", "level_ms", "edges_ms", "excess_ms", "kept", "held"
    return checked_laws(*([getattr(path, name) for path in paths] for name in names))


def parameters_of(laws: Sequence[RegimePath], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
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
