"""Statements of the VCRoute paper (arXiv 2310.05054), as data: `lab/papers/data/published_vcroute.json`, read and checked.

A statement about WMJitter with `readings` is tested twice: with the printed listing (WM), and with the published code,
in which late packets update the lag too (WML, `vcgym.baselines.playout.wmjitter`).
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lab.papers.arithmetic import Arithmetic, Register, load_document
from lab.papers.causes import Experiment
from lab.papers.statements import NotComparable, Statement, StatementRecord
from lab.papers.vcroute.outcomes import STATISTICS
from vcgym.network.scenarios.scenario import MODES
from vcgym.network.traces.cards import Carded

FILE, EXPERIMENTS = "published_vcroute.json", "experiments_vcroute.json"
LATE_LEARNS = " (late packets teach)"

SYSTEMS = ("DRT-BF", "DRT-WM", "DRT-WML", "VIA-BF", "VIA-WM", "VIA-WML", "VCR-BF", "VCR-WM", "VCR-WML")
"""The paper's five; VCR-BF, which it leaves out; and WML, WMJitter taught by late packets too, as in the code published with it."""

REFERENCE = "DRT-BF"
"""The system that every other is set beside: the worst of the five, says the paper."""


class LinkFigure(StatementRecord):
    """Round trip (ms) or loss (share) of a link of Table I, or of two by `via`."""

    of: Literal["link"]
    source: str
    destination: str
    via: str | None = None
    what: Literal["rtt_ms", "loss"]


class PublishedPath(StatementRecord):
    """Mean one-way delay (ms) of the direct path of a pair, or of the one over the relay `via`."""

    of: Literal["path"]
    scenario: str
    pair: str
    via: str | None = None


class PathRatio(StatementRecord):
    """Mean one-way delay of the direct path of `pair` as a share of that of the pair `to`."""

    of: Literal["path_ratio"]
    scenario: str
    pair: str
    to: str


class DirectRange(StatementRecord):
    """Minimum or maximum over all pairs of the mean one-way delay (ms) of the direct path."""

    of: Literal["direct_range"]
    scenario: str
    end: Literal["least", "largest"]
    pair: str = "*"


class StatisticFigure(StatementRecord):
    """Statistic (`lab.papers.vcroute.outcomes.STATISTICS`) of one system over the pairs that match a shell pattern."""

    of: Literal["value"]
    scenario: str
    pair: str
    system: str
    statistic: str


class Change(StatementRecord):
    """Change of a statistic's mean from `reference` to `system`: a share of the reference's mean, or a difference."""

    of: Literal["change"]
    scenario: str
    pair: str
    system: str
    reference: str
    statistic: str
    relative: bool = True


class Worst(StatementRecord):
    """Share of calls in which `system` has the largest mean delay among itself and the systems `among`."""

    of: Literal["worst"]
    scenario: str
    system: str
    among: tuple[str, ...]
    pair: str = "*"


class BestPair(StatementRecord):
    """Change of the mean delay in the pair with the largest decrease."""

    of: Literal["best_pair"]
    scenario: str
    system: str
    reference: str
    pair: str = "*"


class GainGap(StatementRecord):
    """Mean relative change of the delay of a call over the pairs `pairs` minus that over the pairs `others`."""

    of: Literal["gain_gap"]
    scenario: str
    system: str
    reference: str
    pairs: str
    others: str


class ForecastFigure(StatementRecord):
    """Figure of the predictor, or of the delays to predict, over the packets of VCR-WM."""

    of: Literal["forecast"]
    scenario: str
    pair: str
    what: Literal["rmse_ms", "r2", "within_10_percent", "target_low_ms", "target_high_ms", "target_mean_ms", "target_sd_ms"]


class Paths(StatementRecord):
    """Number of paths of a pair."""

    of: Literal["paths"]
    scenario: str
    pair: str = "*"


class Constant(StatementRecord):
    """Constant of WMJitter."""

    of: Literal["constant"]
    name: Literal["window_ms", "percentile"]


class Cost(StatementRecord):
    """Measured time (ms) per packet of a system."""

    of: Literal["cost"]
    system: str


Measure = Annotated[
    LinkFigure
    | PublishedPath
    | PathRatio
    | DirectRange
    | StatisticFigure
    | Change
    | Worst
    | BestPair
    | GainGap
    | ForecastFigure
    | Paths
    | Constant
    | Cost
    | NotComparable,
    Field(discriminator="of"),
]
INPUTS = (LinkFigure, Paths, Constant)
"""Inputs of ours: reproduced by construction, and not counted among reproduced statements."""


class VCRouteStatement(Statement):
    """Statement of the VCRoute paper.

    Attributes:
        measure: measure of our value.
        readings: true if it is tested in both readings of WMJitter.
        truth: use in the truth table: as printed, or in both readings of WMJitter; "no": not used.
        reproduced: true if it is tested in the reproduction.
    """

    measure: Measure
    readings: bool = False
    truth: Literal["no", "printed", "both"] = "no"
    reproduced: bool = True

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        named = self.measure.model_dump()
        for name, known in (("scenario", MODES), ("system", SYSTEMS), ("reference", SYSTEMS), ("statistic", STATISTICS)):
            if name in named and named[name] not in known:
                raise ValueError(f"{self.id}: {name} is {named[name]!r}; allowed: {', '.join(known)}")
        return self


Statements = Register[VCRouteStatement]


class Experiments(Carded):
    """Experiments for statements that are not reproduced, with a card."""

    experiments: tuple[Experiment, ...]


def load_statements() -> tuple[VCRouteStatement, ...]:
    """Return the statements of the reproduction, those with two readings twice, in the order of the file."""
    return tuple(reading for one in _all() if one.reproduced for reading in _readings(one))


def load_claims() -> tuple[VCRouteStatement, ...]:
    """Return the statements of the truth table: as printed, then those also tested in the published code's reading."""
    claims = [one for one in _all() if one.truth != "no"]
    return (*claims, *(late_learning(one) for one in claims if one.truth == "both"))


def load_arithmetic() -> tuple[Arithmetic, ...]:
    """Return the checks of the printed numbers against each other, about both readings of a statement."""
    found = load_document(Statements, FILE)
    readings = {one.id: [reading.id for reading in _readings(one)] for one in found.statements}
    return tuple(
        check.model_copy(update={"about": tuple(name for about in check.about for name in readings[about])}) for check in found.arithmetic
    )


def load_experiments() -> tuple[Experiment, ...]:
    """Return what was found for statements that are not reproduced in mode paper (lab/notes/inverse.md)."""
    return load_document(Experiments, EXPERIMENTS).experiments


def _readings(statement: VCRouteStatement) -> tuple[VCRouteStatement, ...]:
    if not statement.readings:
        return (statement,)
    late = late_learning(statement)
    return statement.model_copy(update={"other_readings": (late.id, *statement.other_readings)}), late


def _all() -> tuple[VCRouteStatement, ...]:
    return load_document(Statements, FILE).statements


def late_learning(statement: VCRouteStatement) -> VCRouteStatement:
    """Return the statement with WMJitter as in the published code, in which late packets update the lag too."""
    named = statement.measure.model_dump()
    changed = {name: f"{named[name]}L" for name in ("system", "reference") if named.get(name, "").endswith("-WM")}
    measure = statement.measure.model_copy(update=changed)
    return statement.model_copy(update={"id": statement.id + LATE_LEARNS, "measure": measure, "other_readings": (statement.id,)})


def scenario_of(statement: VCRouteStatement) -> str | None:
    """Return the scenario of a statement's calls, or None."""
    return "table1" if isinstance(statement.measure, LinkFigure) else getattr(statement.measure, "scenario", None)


def claimed_scenarios() -> tuple[str, ...]:
    """Return the scenarios of the truth table."""
    return tuple(dict.fromkeys(filter(None, map(scenario_of, load_claims()))))
