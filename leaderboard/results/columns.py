"""Columns of result rows: identity of the call, measured metrics, and their display on a board.

`vcgym.leaderboard.results.kinds` has the `Columns` of each kind of calls. Metrics, files, tables and the report page use them. Names
follow the project's vocabulary and include units; shares are in 0..1 in files and shown in percent.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Column(NamedTuple):
    """Measured column.

    Attributes:
        name: key of the row and of the file.
        label: short heading for a table.
        unit: unit as shown; "%" means the stored share times 100.
        decimals: decimals shown.
        better: +1 if more is better, -1 if less is better, 0 if neither.
        about: definition in one sentence.
        type: Arrow type name of the stored value.
        centre: summary over worlds in tables, "mean" or "iqm" (interquartile mean).
    """

    name: str
    label: str
    unit: str
    decimals: int
    better: int
    about: str
    type: str = "float64"
    centre: str = "mean"

    @property
    def heading(self) -> str:
        """Label and unit."""
        return f"{self.label} {self.unit}".strip()

    @property
    def factor(self) -> float:
        """Factor from the stored to the displayed value."""
        return 100.0 if self.unit == "%" else 1.0

    @property
    def trim(self) -> float:
        """Share of the worlds that the centre cuts off at each end."""
        return 0.25 if self.centre == "iqm" else 0.0

    def text(self, value: float) -> str:
        """Return a value for tables: rounded, in percent for shares, "n/a" for NaN, without the unit."""
        return f"{value * self.factor:.{self.decimals}f}" if math.isfinite(value) else "n/a"

    def interval(self, found: Iterable[float]) -> str:
        """Return a value and the ends of its interval for tables; see `interval_text`."""
        return interval_text(found, self.decimals, self.factor)


class DelayLoss(NamedTuple):
    """Delay and loss of one Pareto front.

    Attributes:
        name: name of the front.
        delay: column of the delay in ms.
        losses: columns of shares that add up to the loss.
        delay_label: label of the delay axis.
        loss_label: label of the loss axis.
        adjective: adjective for packets that are not lost, for headings.
    """

    name: str
    delay: str
    losses: tuple[str, ...]
    delay_label: str
    loss_label: str
    adjective: str


class Columns(NamedTuple):
    """Columns of the rows of a suite, and their display on its board.

    Attributes:
        identity: columns in addition to `IDENTITY` that identify the run, with their Arrow types.
        mark: column that tells the rows of these suites from those of others.
        conditions: heading -> column of the conditions that a board states.
        metrics: measured columns.
        ranked_by: metric used for ranking; more is better.
        headline: (heading, metrics) of the first text table.
        details: metrics of the second text table.
        groups: (heading, metrics) of the page's table.
        levels: value -> name of the thresholds of performance profiles.
        levels_title: title of the thresholds.
        profile: thresholds at which profiles are drawn.
        target: value of the ranked metric that counts as good; None: none.
        bands: (column, values, heading) of a text column whose shares are shown; None: none.
        published: systems with published constants; the best of them is compared with everyone, and has score 0.
        fronts: Pareto fronts.
        curves: (accounting, title) of the delay distributions; the first one is also shown pair by pair.
        pairs: name of the content of `pair`.
        min_step: minimum difference of the ranked metric that matters, for the scale of figures.
        footnote: definitions for readers of a board.
        hundred: oracle with anchored score 100; "": no scores. Score 0 is the best published system.
        informed: second oracle shown on the axis of scores; "" for none.
        min_headroom: minimum difference between 100 and 0, in the ranked metric, for which a score is defined.
        drawn: systems that figures show initially, in addition to the best one and the agents.
        oracles: systems with information that no controller can have; they are played with the others and never ranked.
        price: metric that a system pays for the ranked one, drawn against it as the first picture; "" for none.
        ladder: id of the environment whose steps the page shows (data/ladder.csv); "" for none.
    """

    identity: dict[str, str]
    mark: str
    conditions: dict[str, str]
    metrics: tuple[Column, ...]
    ranked_by: str
    headline: tuple[tuple[str, tuple[str, ...]], ...]
    details: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    levels: dict[float, str]
    levels_title: str
    profile: np.ndarray
    published: tuple[str, ...]
    fronts: tuple[DelayLoss, ...]
    curves: tuple[tuple[str, str], ...]
    pairs: str
    min_step: float
    footnote: str
    hundred: str = ""
    informed: str = ""
    min_headroom: float = 0.0
    target: float | None = None
    bands: tuple[str, tuple[str, ...], str] | None = None
    drawn: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    price: str = ""
    ladder: str = ""

    @property
    def metric(self) -> dict[str, Column]:
        """Measured columns by name."""
        return {column.name: column for column in self.metrics}

    @property
    def primary(self) -> Column:
        """Column used for ranking."""
        return self.metric[self.ranked_by]

    @property
    def grouped(self) -> list[tuple[str, list[Column]]]:
        """Heading and columns of each group of the page's table, without the ranked metric, which precedes them."""
        groups = [(heading, [self.metric[name] for name in names if name != self.ranked_by]) for heading, names in self.groups]
        return [(heading, columns) for heading, columns in groups if columns]

    @property
    def numbers(self) -> list[Column]:
        """Measured columns with numbers."""
        return [column for column in self.metrics if column.type != "string"]

    @property
    def types(self) -> dict[str, str]:
        """Name -> Arrow type of every column of a row."""
        return IDENTITY | self.identity | {column.name: column.type for column in self.metrics}


IDENTITY: dict[str, str] = {
    "system": "string",
    "kind": "string",
    "suite": "string",
    "suite_version": "string",
    "mode": "string",
    "scenario": "string",
    "stratum": "string",
    "split": "string",
    "pair": "string",
    "seed": "int64",
    "card": "string",
    "training_decisions": "int64",
    "tuning_trials": "int64",
    "parameters": "int64",
}
"""Columns that every row has, with their Arrow types. `kind` is that of the system: rule, tuned, agent or oracle; `card` is the hash of the
data behind the world; of a bottleneck, `stratum` and `pair` are the kind of world. The last three are `COST`: decisions an agent was
trained on, settings tried before a rule's or an agent's were chosen, and the count of numbers that the system consists of.
"""

MEASURED_TIME = {"series": "strings", "begins_ms": "int64s", "ends_ms": "int64s"}
"""Columns of calls over measured traces, with their types: each trace that a call has a part of, and where that begins and ends, without
the history before the call. Calls with a part in common are not independent (`vcgym.leaderboard.statistics.paired`). Lists are empty for
other calls.
"""

COST = ("training_decisions", "tuning_trials", "parameters")

WORLD: tuple[str, ...] = ("mode", "scenario", "stratum", "split", "pair", "seed")
"""Columns that together name one world; with `system` they are the key of a row."""


def interval_text(found: Iterable[float], decimals: int, factor: float = 1.0, style: str = "") -> str:
    """Return a value and the ends of its interval as text, "84.2 [83.9, 84.6]"; the value alone without an interval, "n/a" for NaN.

    Args:
        found: the value, and the low and high end of its interval.
        decimals: decimals of each number.
        factor: factor from the stored to the displayed numbers.
        style: options of the number's format: "+" for signs, "z" for no negative zero.
    """
    value, low, high = (f"{factor * number:{style}.{decimals}f}" if math.isfinite(number) else "n/a" for number in found)
    return value if low == "n/a" else f"{value} [{low}, {high}]"
