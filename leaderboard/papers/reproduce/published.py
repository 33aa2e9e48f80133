"""What the paper prints, as data: `vcgym.data/published_vcroute.json`, read and checked.

A statement is one published number or direction: where it stands, how ours is measured, and by which rule, declared with it, ours counts as
the same. A statement about WMJitter with `readings` is looked at twice: as the listing is printed (WM), and as the published code has it,
where late packets teach (WML, `vcgym.baselines.receivers.wmjitter`).
"""

import importlib.resources
from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from vcgym.leaderboard.papers.truth.claims import SYSTEMS
from vcgym.leaderboard.papers.truth.outcomes import STATISTICS
from vcgym.network.scenarios.scenario import MODES
from vcgym.network.traces.cards import Carded, parse_carded

FILE = "published_vcroute.json"
LATE_LEARNS = " (late packets teach)"

Rule = Literal["within", "at most", "at least", "lower", "higher", "equal", "not higher", "none"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Link(_Record):
    """Round trip (ms) or loss (share) of a link of Table I, or of two by `via`."""

    of: Literal["link"]
    source: str
    destination: str
    via: str | None = None
    what: Literal["rtt_ms", "loss"]


class Path(_Record):
    """Mean one-way delay (ms) of the direct path of a pair, or of the one over the relay `via`."""

    of: Literal["path"]
    scenario: str
    pair: str
    via: str | None = None


class PathRatio(_Record):
    """Mean one-way delay of the direct path of `pair` as a share of that of the pair `to`."""

    of: Literal["path_ratio"]
    scenario: str
    pair: str
    to: str


class DirectRange(_Record):
    """Least or largest over all pairs of the mean one-way delay (ms) of the direct path."""

    of: Literal["direct_range"]
    scenario: str
    end: Literal["least", "largest"]
    pair: str = "*"


class Value(_Record):
    """A statistic (`vcgym.leaderboard.papers.truth.outcomes.STATISTICS`) of one system over the pairs of a shell pattern."""

    of: Literal["value"]
    scenario: str
    pair: str
    system: str
    statistic: str


class Change(_Record):
    """Change of a statistic's mean from `reference` to `system`: a share of the reference's mean, or a difference."""

    of: Literal["change"]
    scenario: str
    pair: str
    system: str
    reference: str
    statistic: str
    relative: bool = True


class Worst(_Record):
    """Share of calls in which `system` has the largest mean delay, it and those it is `among`."""

    of: Literal["worst"]
    scenario: str
    system: str
    among: tuple[str, ...]
    pair: str = "*"


class BestPair(_Record):
    """The change of the mean delay in the pair where it falls most."""

    of: Literal["best_pair"]
    scenario: str
    system: str
    reference: str
    pair: str = "*"


class GainGap(_Record):
    """Mean relative change of the delay of a call over the pairs `pairs`, less that over the pairs `others`."""

    of: Literal["gain_gap"]
    scenario: str
    system: str
    reference: str
    pairs: str
    others: str


class Forecast(_Record):
    """A figure of the predictor, or of the delays it is to predict, over the packets of VCR-WM."""

    of: Literal["forecast"]
    scenario: str
    pair: str
    what: Literal["rmse_ms", "r2", "within_10_percent", "target_low_ms", "target_high_ms", "target_mean_ms", "target_sd_ms"]


class Paths(_Record):
    """How many paths a pair has."""

    of: Literal["paths"]
    scenario: str
    pair: str = "*"


class Constant(_Record):
    """A constant of WMJitter."""

    of: Literal["constant"]
    name: Literal["window_ms", "percentile"]


class Cost(_Record):
    """Time (ms) that a system takes for a packet, by a clock."""

    of: Literal["cost"]
    system: str


class Nothing(_Record):
    """Nothing of ours can stand beside it."""

    of: Literal["nothing"]


Measure = Annotated[
    Link | Path | PathRatio | DirectRange | Value | Change | Worst | BestPair | GainGap | Forecast | Paths | Constant | Cost | Nothing,
    Field(discriminator="of"),
]
INPUTS = (Link, Paths, Constant)
"""What we put in ourselves: reproduced by construction, and not counted among what was reproduced."""


class Judged(_Record):
    """One published number or direction, and when ours counts as the same.

    Attributes:
        id: its name.
        source: table, figure or section.
        kind: T in a table, X in the text, F a picture alone.
        text: what it is a statement of.
        published: as printed.
        rule: when ours counts as the same; see `vcgym.leaderboard.papers.reproduce.rules`.
        accepted: the published value or range, with its declared tolerance, in the unit of the measure.
        note: what has to be said of it.
    """

    id: str
    source: str
    kind: Literal["T", "X", "F"]
    text: str
    published: str
    rule: Rule
    accepted: tuple[float, float] | None = None
    note: str = ""

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        if self.accepted is None and self.rule in ("within", "at most", "at least", "equal", "not higher"):
            raise ValueError(f"{self.id}: rule {self.rule!r} without a range; allowed: accepted [low, high]")
        if self.accepted is not None and self.accepted[0] > self.accepted[1]:
            raise ValueError(f"{self.id}: accepted is {self.accepted}; allowed: low <= high")
        if self.rule == "none" and not self.note:
            raise ValueError(f"{self.id}: rule none without a note; allowed: a note that says why")
        return self


JudgedT = TypeVar("JudgedT", bound=Judged)


class Statement(Judged):
    """A statement of the VCRoute paper.

    Attributes:
        measure: how ours is found.
        readings: looked at in both readings of WMJitter.
    """

    measure: Measure
    readings: bool = False

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        named = self.measure.model_dump()
        for name, known in (("scenario", MODES), ("system", SYSTEMS), ("reference", SYSTEMS), ("statistic", STATISTICS)):
            if name in named and named[name] not in known:
                raise ValueError(f"{self.id}: {name} is {named[name]!r}; allowed: {', '.join(known)}")
        return self


def each_once(statements: tuple[JudgedT, ...]) -> tuple[JudgedT, ...]:
    """Refuse statements of which two have one id.

    Raises:
        ValueError: naming the ids.
    """
    names = [statement.id for statement in statements]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two statements are called {twice}; allowed: each id once")
    return statements


class Statements(Carded):
    """The file: a card and the statements."""

    statements: Annotated[tuple[Statement, ...], AfterValidator(each_once)]


def load_published() -> tuple[Statement, ...]:
    """All statements, those with two readings twice, in the order of the file."""
    text = importlib.resources.files("vcgym.data").joinpath(FILE).read_text(encoding="utf-8")
    return tuple(reading for statement in parse_published(text).statements for reading in _readings(statement))


def parse_published(text: str) -> Statements:
    """Validate the JSON text of the file.

    Raises:
        DataError: a field that is wrong, or content that does not match the card's hash.
    """
    return parse_carded(Statements, FILE, text)


def _readings(statement: Statement) -> Iterator[Statement]:
    yield statement
    if statement.readings:
        named = statement.measure.model_dump()
        changed = {name: f"{named[name]}L" for name in ("system", "reference") if named.get(name, "").endswith("-WM")}
        measure = statement.measure.model_copy(update=changed)
        yield statement.model_copy(update={"id": statement.id + LATE_LEARNS, "measure": measure})
