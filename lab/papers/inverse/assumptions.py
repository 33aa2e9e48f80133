"""Assumptions: everything that the VCRoute paper leaves open and that an evaluation must fix, with the declared values of each.

Each field names its cause (world, accounting or reading) and its source. Left out, because a value would need data or code that does not
exist: other servers of the same places and other days (one measured table per link exists), bad hours within a call (mode correlated has
them), delays read at each hop instead of at the sending slot, the published code's omission of the first 20 % of packets, and a predictor
trained anew under each assumption (the shipped one was trained on worlds of the defaults).
"""

from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

from lab.papers.causes import ACCOUNTING, READING, WORLD, Cause


def _declared(*values: Any, cause: Cause, source: str) -> Any:
    """Return a field whose default is the first value."""
    return field(default=values[0], metadata={"values": values, "cause": cause, "source": source})


@dataclass(frozen=True)
class Assumptions:
    """Values of the fields; all defaults together are mode `paper` of the reproduction, WMJitter as printed.

    Attributes:
        burst: measured burst of a link: the worst; the median; for each packet one of them, or for each call, the worst with the link's
            share of bad hours.
        round_trip: share of the round trip that is the one-way delay; 2: there and back again. No effect on the scale study.
        spread: factor of a link's delay above its minimum. No effect on the scale study.
        tau_ms: correlation time of a link's delay (Gaussian copula, AR(1)); 0: independent packets.
        order: packets of a path may overtake each other ("free"), or are first-in-first-out ("fifo").
        series: each link has its own series of ranks, or all links share one.
        loss: probability of loss added to each link.
        history: burst of the history before the call: the call's or the other one (worst for median, else median).
        history_packets: length of the history in packets.
        clock_ppm: rate by which the receiver's clock gains on the sender's.
        length: length of the calls, relative to that of the search.
        accounting: end of a packet's delay: emission by the receiver, or the tick of a clocked player.
        lost: packets counted as lost: late and lost in the network; late alone; not heard within 400 ms (G.114).
        late_teaches: WMJitter updates its lag on late packets too.
        ms_per_loss_percent: WMJitter's price of a percent of loss.
        topk: candidate paths of Via and VCRoute.
        reward: what VCRoute learns from: its predictor, the newest delay, delays fed back, or the true delay at once (an oracle).
        sample: VCRoute draws the next delay or its mean.
        ucb_c: Via's width of exploration.
        plans: a plan travels from a central router for half the direct delay, or applies at once (a router at the sender).
        buffer: target of the count buffer BF: NetEQ-like; the same in the published code's buffer; or 30 ms (four packets).
    """

    burst: str = _declared("worst", "median", "mixture", "hour", cause=WORLD, source="authors' log: the worst burst; data/README.md")
    round_trip: float = _declared(1.0, 0.5, 2.0, cause=WORLD, source="section VI-A: ping round trips used as latencies")
    spread: float = _declared(1.0, 0.5, 2.0, 4.0, cause=WORLD, source="how series were made from ping statistics is not published")
    tau_ms: float = _declared(0.0, 50.0, 200.0, 1000.0, cause=WORLD, source="not stated; decides how often packets overtake each other")
    order: str = _declared("free", "fifo", cause=WORLD, source="not stated; a first-in-first-out network never reorders")
    series: str = _declared("own", "shared", cause=WORLD, source="published code: one row of the delay matrix for all hops")
    loss: float = _declared(0.0, 0.01, 0.05, cause=WORLD, source="Table I: up to 11 %; WonderProxy publishes no loss")
    history: str = _declared("same", "other", cause=WORLD, source="section IV-A; published code: the start of the played series")
    history_packets: int = _declared(1024, 100, 30, cause=WORLD, source="published code: 100 rows; a ping burst: 30")
    clock_ppm: float = _declared(0.0, 100.0, cause=WORLD, source="not stated; usual tolerance of a quartz")
    length: int = _declared(1, 5, cause=WORLD, source="section II: 30,000 packets; section VI: 600,000")
    accounting: str = _declared("event", "clocked", cause=ACCOUNTING, source="section II-C; a clocked player is usual")
    lost: str = _declared("all", "late", "over_400", cause=ACCOUNTING, source="section VI-C: a loss rate without definition")
    late_teaches: bool = _declared(False, True, cause=READING, source="Algorithm 1; the published code differs")
    ms_per_loss_percent: float = _declared(10.0, 20.0, cause=READING, source="Algorithm 2: PktSize; published code: 20")
    topk: str = _declared("interval", "best_five", "published", "refreshed", cause=READING, source="section IV-A; Via; published code")
    reward: str = _declared("predicted", "newest", "delayed", "at_once", cause=READING, source="section IV-B; published code: true delay")
    sample: str = _declared("predictive", "mean", cause=READING, source="section IV-B: posterior predictive; textbook: the mean")
    ucb_c: float = _declared(2.0, 0.1, cause=READING, source="published code: 2; Via: reportedly 0.1")
    plans: str = _declared("delayed", "at_once", cause=READING, source="section VI-C5: delay of sending a plan")
    buffer: str = _declared("neteq_like", "published", "fixed", cause=READING, source="Figure 6; published code")

    def __post_init__(self) -> None:
        for name, known in DECLARED.items():
            if getattr(self, name) not in known.values:
                raise ValueError(f"{name} is {getattr(self, name)!r}; allowed: {', '.join(map(str, known.values))}")

    @property
    def changes(self) -> dict[str, Any]:
        """Fields that differ from their defaults, with their values."""
        return {name: getattr(self, name) for name, known in DECLARED.items() if getattr(self, name) != known.values[0]}

    def neighbours(self) -> list[Self]:
        """Return all assumptions that differ in one field."""
        found = [(name, value) for name, known in DECLARED.items() for value in known.values if value != getattr(self, name)]
        return [replace(self, **{name: value}) for name, value in found]


class Declared(NamedTuple):
    """Declared values of a field, the default first; its cause, and its source."""

    values: tuple[Any, ...]
    cause: Cause
    source: str


def _declared_by(one: Field[Any]) -> Declared:
    return Declared(**one.metadata)


DECLARED = {one.name: _declared_by(one) for one in fields(Assumptions)}
"""The declared values of every field, by name."""
