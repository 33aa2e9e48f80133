"""Fit of measured traces, one per path, to the laws of `vcgym.network.worlds.fitted`; and the scenario file that holds them.

A trace is cut into windows of a second, or of `PROBES` times its usual spacing if that is longer. Per window: the level, the 10 % quantile
of its delays; and the scale, their standard deviation. Fitted are the laws of level, of scale, and of jitter (delay minus level, over
scale), as quantiles at `SCORES`. Level and scale are held for the time at which an exponential autocorrelation has that of neighbouring
windows' normal scores. The correlation time of the jitter is the one whose drawn worlds, probed at the slots of the trace, have the mean
step between neighbouring answered probes that the trace has (a method of simulated moments). Loss and its runs are those of the slots.

Left out: what paths have in common, and what lies between two probes: the spacing of the trace bounds the jitter that is measured.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import Card, Carded, DataError, Milliseconds, QueueTimes, canonical_sha256
from vcgym.network.traces.coverage import SlotCoverage, coverage, parts
from vcgym.network.traces.trace import Trace, to_slots
from vcgym.network.worlds.correlated import MAX_TAU_MS
from vcgym.network.worlds.fitted import MAX_HELD_MS, MAX_JITTER, SCORES, SLOT_MS, FittedWorld
from vcgym.network.worlds.world import WorldDraw, blocks

WINDOW_MS = 1000.0
PROBES = 10
"""Probes of a window, if the usual spacing exceeds 100 ms; a window with fewer than half of them is left out."""
MIN_WINDOWS = 30
LEVEL_QUANTILE = 0.1
MAX_FITTED_TAU_MS = 5000.0
_RESOLUTION_MS = 0.05  # added to a scale: pings are printed in tenths of a millisecond
_LOWEST_CORRELATION, _HIGHEST_CORRELATION = 0.05, 1.0 - 1e-6
_ROUNDS, _POWER = 8, 1.5  # of the search for the correlation time; the step falls about with its square root
_SEARCHED_SLOTS = 100_000
_DIGITS = 5

PROBABILITIES = np.array([NormalDist().cdf(score) for score in SCORES])
Law = Annotated[tuple[Milliseconds, ...], Field(min_length=len(SCORES), max_length=len(SCORES))]
Jitter = Annotated[float, Field(ge=-MAX_JITTER, le=MAX_JITTER)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Run = Annotated[float, Field(ge=1.0)]


class FittedPath(QueueTimes):
    """Law of one path in files of an older fit, in one-way milliseconds: lognormal queueing of one correlation time.

    Attributes:
        loss: share of slots lost, 0 to 1.
        loss_run: L of `vcgym.network.worlds.losses`, in slots: a run of losses has L / (1 - loss) slots on average.
        tau_ms: correlation time of the queueing.
    """

    loss: Share
    loss_run: Run
    tau_ms: Annotated[float, Field(ge=0.0, le=MAX_TAU_MS)]


class JitterPath(BaseModel):
    """Law of one path, see `vcgym.network.worlds.fitted`: laws at `SCORES`, in one-way milliseconds, and times in milliseconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
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


class FittedScenario(Carded):
    """Content of a scenario file: the laws of the paths of each pair, in the order of `paths`; all of one kind."""

    paths: tuple[str, ...]
    pairs: dict[str, tuple[JitterPath, ...]] | dict[str, tuple[FittedPath, ...]]


class Observed(NamedTuple):
    """Trace as slots of a call.

    Attributes:
        name: name in errors.
        delay_us: int64 (slots,), one-way delay or LOST.
        answered: bool (slots,), slots with an answered probe.
        known: bool (slots,), slots outside gaps.
        coverage: spacing of the probes.
    """

    name: str
    delay_us: NDArray[np.int64]
    answered: NDArray[np.bool_]
    known: NDArray[np.bool_]
    coverage: SlotCoverage

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


def drawn_us(laws: tuple[JitterPath, ...], slots: int, lossless: bool, seed: int = 0) -> NDArray[np.int64]:
    """Sample a world of the paths; return (paths, slots) of one-way delays in microseconds or LOST."""
    world = FittedWorld(1, len(laws))
    world.start(0, WorldDraw("drawn", "fitted", seed, parameters_of(laws) | {"lossless": lossless}))
    return np.concatenate([*blocks(world, slots)], axis=1)[:, :slots].astype(np.int64)


def parameters_of(laws: Sequence[BaseModel]) -> dict[str, NDArray[np.float64]]:
    """Return the parameters of `FittedWorld`, arrays with a row per path."""
    return {name: np.array([getattr(law, name) for law in laws]) for name in JitterPath.model_fields}


def fit_path(path: Observed) -> JitterPath:
    """Fit one path.

    Raises:
        DataError: fewer than MIN_WINDOWS windows hold enough answers.
    """
    window = max(WINDOW_MS, PROBES * path.coverage.spacing_ms)
    slots = np.flatnonzero(path.answered)
    numbers, first, counts = np.unique((slots * SLOT_MS // window).astype(np.int64), return_index=True, return_counts=True)
    enough = counts >= PROBES // 2
    if enough.sum() < MIN_WINDOWS:
        allowed = f"at least {MIN_WINDOWS}, {MIN_WINDOWS * window / 1000.0:g} s of probes"
        raise DataError(f"trace {path.name}", f"windows of {window / 1000.0:g} s with {PROBES // 2} answers", int(enough.sum()), allowed)
    values = path.values_ms
    cut = [values[at : at + count] for at, count in zip(first[enough], counts[enough], strict=True)]
    level = np.array([np.quantile(one, LEVEL_QUANTILE) for one in cut])
    scale = np.array([one.std() + _RESOLUTION_MS for one in cut])
    jitter = np.concatenate([(one - low) / wide for one, low, wide in zip(cut, level, scale, strict=True)])
    loss, run = path.loss
    law = JitterPath(
        level_ms=_law(level), scale_ms=_law(scale), jitter=_law(np.clip(jitter, -MAX_JITTER, MAX_JITTER)),
        level_held_ms=held_ms(numbers[enough], level, window), scale_held_ms=held_ms(numbers[enough], scale, window),
        tau_ms=SLOT_MS, largest_ms=float(values.max()), loss=loss, loss_run=max(run * (1.0 - loss), 1.0),
    )  # fmt: skip
    return law.model_copy(update={"tau_ms": _tau_ms(path, law)})


def held_ms(numbers: NDArray[np.int64], values: NDArray[np.float64], window_ms: float) -> float:
    """Return the mean time for which a level or scale is held, from its values in the windows `numbers`, both (n,); numbers rise."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    at = np.linspace(0.0, 1.0, 1001)
    scores = np.interp((ranks + 0.5) / len(values), at[1:-1], [NormalDist().inv_cdf(p) for p in at[1:-1]])
    neighbours = np.flatnonzero(np.diff(numbers) == 1)
    known = len(neighbours) > 1 and values.std() > 0.0
    found = float((scores[neighbours] * scores[neighbours + 1]).mean() / (scores**2).mean()) if known else 0.0
    return float(np.clip(-window_ms / math.log(np.clip(found, _LOWEST_CORRELATION, _HIGHEST_CORRELATION)), SLOT_MS, MAX_HELD_MS))


def _law(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(f"{value:.{_DIGITS}g}") for value in np.quantile(values, PROBABILITIES))


def _tau_ms(path: Observed, law: JitterPath) -> float:
    """Return the correlation time of the jitter with which drawn worlds have the step of the path."""
    wanted, tau_ms = step_ms(path.values_ms), law.tau_ms
    probed = np.resize(path.answered, max(_SEARCHED_SLOTS, len(path.answered)))
    for seed in range(_ROUNDS if wanted > 0.0 else 0):
        found = drawn_us((law.model_copy(update={"tau_ms": tau_ms}),), len(probed), lossless=True, seed=seed)
        ratio = step_ms(found[0, probed] / 1000.0) / wanted
        tau_ms = float(np.clip(tau_ms * ratio**_POWER, 0.1 * SLOT_MS, MAX_FITTED_TAU_MS))
    return float(f"{tau_ms:.{_DIGITS}g}")


def scenario_of(laws: dict[str, tuple[JitterPath, ...]], paths: tuple[str, ...], traces: str) -> FittedScenario:
    """Return the content of a scenario file with the laws of each pair; `traces` names their origin."""
    body = {"paths": list(paths), "pairs": {pair: [law.model_dump(mode="json") for law in of_pair] for pair, of_pair in laws.items()}}
    card = Card(
        name="fitted", description=f"Laws of {len(laws)} x {len(paths)} paths, fitted to traces", source=traces,
        licence="that of the traces", sha256=canonical_sha256(body), kind="fitted",
        units="one-way milliseconds; loss without unit, loss_run in slots of 10 ms",
    )  # fmt: skip
    return FittedScenario(card=card, paths=paths, pairs=laws)
