"""Outcome of an inverse reproduction: `lab/papers/data/inverse_vcroute.json`, made by `python -m lab reproduce search=true`."""

from typing import Literal

from lab.papers.register import load_document
from lab.papers.statements import StatementRecord
from vcgym.network.traces.cards import Carded

FILE = "inverse_vcroute.json"
OUT_OF_REACH, MIXED = "out of reach", "mixed"

Changes = dict[str, bool | int | float | str]
"""Fields of `lab.papers.inverse.assumptions.Assumptions` that differ from their defaults."""


class ValueWithInterval(StatementRecord):
    """A value with the ends of its 95 % interval, in the unit of `lab.papers.verdicts`; None where there is none."""

    ours: float | None
    low: float | None
    high: float | None


class Budget(StatementRecord):
    """Effort of the search.

    Attributes:
        version: of the declared family; a changed field or value gives another one.
        seeds: seeds of the genetic searches.
        sample: assumptions in the first, quasi-random sample of a seed, and in each generation.
        generations: generations after the sample.
        tried: different assumptions tried in all.
        late: those of them under which late packets teach.
        confirmed: those of them played again with as many worlds as the reproduction.
        rough: worlds per pair, minimum number of worlds of a scenario, and packets per call of a first trial.
        full: the same of a confirmation.
    """

    version: int
    seeds: tuple[int, ...]
    sample: int
    generations: int
    tried: int
    late: int
    confirmed: int
    rough: tuple[int, int, int]
    full: tuple[int, int, int]


class BestAssumptions(StatementRecord):
    """Assumptions under which most statements of one source, or of the whole paper, hold together.

    Attributes:
        source: source of the statements; "all" for the paper.
        seed: seed of the genetic search from whose best point the climb started; None if all confirmed trials compete.
        changes: the assumptions.
        held: statements that hold under them.
        of: number of judged statements.
        without: for an end of a seed's search: changed field -> number of statements that hold if it alone keeps its default.
    """

    source: str
    seed: int | None
    changes: Changes
    held: tuple[str, ...]
    of: int
    without: dict[str, int]


class AblationRow(StatementRecord):
    """Cause of one statement that does not hold under the base, the defaults or those with late packets teaching.

    Attributes:
        statement: id of the statement.
        changes: the fewest changes of the base found that make it hold; empty if none was found.
        cause: cause of all fields changed, MIXED if they have several, or OUT_OF_REACH.
        before: our value under the base.
        after: our value under the changes; that of the base if there are none.
        singles: number of single changes that make it hold, in the larger of the trials that there are.
        gained: statements that hold under the changes and not under the base.
        broken: statements that hold under the base and not under the changes.
    """

    statement: str
    changes: Changes
    cause: Literal["world", "accounting", "reading", "mixed", "out of reach"]
    before: ValueWithInterval
    after: ValueWithInterval
    singles: int
    gained: tuple[str, ...]
    broken: tuple[str, ...]


class LogFit(StatementRecord):
    """Packets drawn under assumptions, beside the authors' log (`lab.papers.inverse.authors_log`).

    Attributes:
        changes: the assumptions.
        misfit: sum of the distance and of the differences of the other figures.
        distance: mean absolute difference of the quantiles of the delays, in standard deviations of the log.
        correlation: of the delays of consecutive packets.
        overtaken: share of packets that the next one overtakes.
        missing: share of missing packets.
    """

    changes: Changes
    misfit: float
    distance: float
    correlation: float
    overtaken: float
    missing: float


class AuthorsLog(StatementRecord):
    """Figures of the authors' log, and how well assumptions fit it, best first."""

    packets: int
    correlation: float
    overtaken: float
    missing: float
    fits: tuple[LogFit, ...]


class Inverse(Carded):
    """Content of the file: a card, the effort, and what was found.

    Attributes:
        budget: effort.
        judged: statements whose verdict may depend on assumptions.
        held: those that hold under the defaults.
        never: those that hold under no assumptions tried.
        best: best joint assumptions: for the paper by seed, then for each source.
        values: statement -> our value under the best joint assumptions for the paper.
        ablation: a row per statement that does not hold under the defaults.
        late: the same for the statements with a second reading, if late packets teach WMJitter's lag.
        authors_log: fit to the authors' log; None if it was not among the measured data.
    """

    budget: Budget
    judged: tuple[str, ...]
    held: tuple[str, ...]
    never: tuple[str, ...]
    best: tuple[BestAssumptions, ...]
    values: dict[str, ValueWithInterval]
    ablation: tuple[AblationRow, ...]
    late: tuple[AblationRow, ...]
    authors_log: AuthorsLog | None


def load_inverse() -> Inverse:
    """Return the shipped outcome."""
    return load_document(Inverse, FILE)
