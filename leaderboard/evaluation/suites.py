"""Suites: worlds on which systems are ranked. The worlds of a suite never change; a changed suite gets a new version (see `frozen`).

default         the suite of `make leaderboard`: mode correlated detects a difference of 1 R between two named systems (power 80 %);
                mode paper; drives over 5G networks in mode replay
paper-v0        mode paper: the VCRoute paper's two settings and its motivation
correlated-v0   mode correlated: the declared strata with their weights; then the natural mix and one-second bursts separately
measured-v0     measured series that ship: drives over 5G networks, and apart satellite pings; apart those of replay-v0, if available
replay-v0       measured series of satellites
stress-v1       deliberate faults, with delay steps of 50 to 500 ms
scale-v0        9 to 900 paths, and locations that no system was designed for
order-v0        over a bottleneck: every kind of the scenario `order`, 30 calls each, as in S1
calls-v0        every kind of `calls`, 30 calls each
rmcat-v0        every kind of `rmcat`, the test cases of RFC 8867 and RFC 8869, 30 runs each
rmcat-v1        every kind of `rmcat-extended`, those that rmcat-v0 leaves out, 12 runs each
conference-v0   every kind of `conference`, 12 worlds each
whole-v0        calls over a shared bottleneck and relay paths: kinds of `rate` and `calls` before `wonderproxy`, 40 calls each
protected-v0    calls over paths within budgets of bytes for protection, losses in runs and, apart, independent
protected-link-v0  the same behind a link that many calls share, all protected alike
rate-v0         every kind of `rate`, and of `rate-measured` if its traces are available, 30 calls each
replay          your own traces, one per path (`replay_suite`)
rate-replay     your own capacity traces
fitted          worlds of a scenario file that you fitted to your own traces
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.leaderboard.evaluation.kinds.conference import CONFERENCE
from vcgym.leaderboard.evaluation.kinds.kind import Kind
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.kinds.protected import LINKED, PROTECTED
from vcgym.leaderboard.evaluation.kinds.sender import CASES, ORDERED, SENDER
from vcgym.leaderboard.evaluation.kinds.whole import WHOLE
from vcgym.leaderboard.evaluation.part import FITTED, Part
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.files import columns_with
from vcgym.network.bottleneck.capacity.sets import FOLDER as BANDWIDTH
from vcgym.network.scenarios.bottleneck.rmcat import CASES as RMCAT_CASES
from vcgym.network.scenarios.bottleneck.rmcat_extended import EXTENDED_CASES
from vcgym.network.scenarios.bottleneck.sending_scenarios import LOSS, RTT_MS, SEND_QUEUE
from vcgym.network.scenarios.conference import ConferenceScenario
from vcgym.network.scenarios.paths.leo import FOLDER as LEO
from vcgym.network.scenarios.paths.leo import NOT_SHIPPED
from vcgym.network.scenarios.paths.shipped_series import SATELLITE
from vcgym.network.scenarios.paths.stress import MILD_STRESS, ONE_SECOND_BURSTS
from vcgym.network.traces.cards import DATA_VARIABLE, data_root
from vcgym.network.worlds.strata import NATURAL, STRATA

BOTTLENECK = "bottleneck"
"""Column `mode` of calls over a bottleneck, whose worlds have no mode."""
CONFERENCES = "conference"
"""The same of conferences, and the name of their scenario."""
MEASURED = "rate-measured"

_FOLDERS = {"leo": LEO, MEASURED: BANDWIDTH}
"""Scenario -> folder of the data root without which it cannot be played."""


class Suite(NamedTuple):
    """Parts, ranked by mode, and the kind of their calls.

    `packets` is the length of calls over paths; `systems` play by default, or all that fit if it is empty.
    """

    name: str
    version: str
    packets: int
    parts: tuple[Part, ...]
    kind: Kind = PATHS
    systems: tuple[str, ...] = ()

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios, without duplicates."""
        return tuple(dict.fromkeys(part.scenario for part in self.parts))

    @property
    def columns(self) -> Columns:
        """Columns of its rows."""
        return self.kind.columns


PACKETS = 6000
SEEDS = 10  # minimum for each kind of world
REPLAY_SEEDS = 24
_PER_WEIGHT = 100  # worlds of a pair over all strata; the smallest weight is 10 %
_DEFAULT_PER_WEIGHT = 40
_APART = 1000  # distance of seeds between strata, so that their worlds share no random numbers
_DEFAULT = (
    "BEST-WM", "DRT-BF", "DRT-BF-tuned", "DRT-BFP-tuned", "DRT-EWMA", "DRT-EWMA-tuned", "DRT-FIX", "DRT-NEQ", "DRT-NEQ-tuned",
    "DRT-QTL", "DRT-WM", "DTS-WM", "DTS-WM-tuned", "GRD+EWMA-tuned", "GRD+EWMAH-tuned", "GRD+WMH-tuned", "GRD-WM", "GRD-WM-tuned",
    "LIN+EWMA-tuned", "LIN+EWMAH-tuned", "LIN-WM", "LIN-WM-tuned", "RND-WM", "SWTS-WM", "SWTS-WM-tuned", "VCR-BF", "VCR-WM",
    "VCR-WM-tuned", "VCR2+NEQ-paper-tuned", "VCR2-WM", "VCR2-WM-tuned", "VCR5-WM", "VIA-BF", "VIA-WM", "learned",
)  # fmt: skip
"""The systems of the papers, the best tuned ones of each family, and what is learned: every pair of rules costs seconds to compile."""


def _each_stratum(scenario: str, seeds: dict[str, int], first: int = 0) -> tuple[Part, ...]:
    """Return one part per stratum, with disjoint seeds; the first `first` thousand seeds remain free."""
    numbered = enumerate(seeds.items(), first)
    return tuple(Part(scenario, "correlated", n, stratum=stratum, first_seed=_APART * number) for number, (stratum, n) in numbered)


CONFERENCE_WORLDS = 12  # for each kind
RUNS = 30  # for each kind of world over a bottleneck ...
EXTENDED_RUNS = 12  # ... and of rmcat-extended, with up to 32 flows
_KINDS = {
    "order": (*(f"rtt{rtt_ms:.0f}-q{length}" for rtt_ms in RTT_MS for length in SEND_QUEUE), *(f"loss{100 * share:g}" for share in LOSS)),
    "rate": ("steps", "cellular", "cubic", "wifi"),
    MEASURED: ("us-cellular", "norway-hsdpa", "us-broadband", "us-drive"),
    "calls": ("gcc", "tfrc", "fixed", "mixed"),
    "rmcat": tuple(RMCAT_CASES),
    "rmcat-extended": tuple(EXTENDED_CASES),
}


def _each_kind(*scenarios: str, runs: int = RUNS) -> tuple[Part, ...]:
    return tuple(Part(scenario, BOTTLENECK, runs, stratum=kind) for scenario in scenarios for kind in _KINDS[scenario])


_WHOLE = ("CALL-LEARNED", "CALL-PAPERS", "CALL-PLAIN", "CALL-REFERENCE", "CALL-TUNED", "learned-whole")
_WHOLE_SEEDS = 8  # worlds of each of the five pairs, for each kind of bottleneck: 240 in all


def _whole(uplink: str, kinds: Sequence[str], first: int) -> tuple[Part, ...]:
    """Return one part per kind of bottleneck before the paths between measured places; seeds are above those of other suites."""
    return tuple(
        Part(f"wonderproxy+{uplink}", "correlated", _WHOLE_SEEDS, stratum=kind, first_seed=(40 + first + number) * _APART)
        for number, kind in enumerate(kinds)
    )


BUDGETS = (5, 10, 25, 100)  # % of the plain bytes
LOSS_RUN_SLOTS = 3.0  # near what was measured, see `vcgym.network.worlds.losses`
_PROTECTED = (
    "CHIME", "COPY-HELD", "COPY-NACK", "COPY-RED", "COPY-RISE", "COPY1", "COPY2", "FEC5", "HAIRPIN", "NACK",
    "RED-MISSING", "RED1", "RED2", "RED3", "learned",
)  # fmt: skip
_PROTECTED_WORLDS = {
    "wonderproxy correlated": 6, "wonderproxy paper": 4, "table1 correlated": 6, "table1 paper": 4, "stress correlated": 4,
}  # fmt: skip
"""Kind of world -> worlds of each pair."""
_PROTECTED_MEASURED = {"starlink-ping replay": 16, "5g-weak replay": 4}


def _protected(losses: str, run: float, budget: int, kinds: dict[str, int], load: float = 0.0) -> tuple[Part, ...]:
    """Return one part per kind of world; every budget has the same worlds, with seeds above those of other suites."""
    mode = f"{losses}{f', load {load:g}' if load else ''}, {budget} %"
    settings = (("loss_run_slots", run),) if run > 1.0 else ()
    return tuple(
        Part(kind, mode, seeds, first_seed=number * _APART, settings=settings, budget=budget / 100.0, load=load)
        for number, (kind, seeds) in enumerate(kinds.items(), 60)
    )


LINK_LOADS = (0.6, 0.8, 0.9)  # by plain bytes alone; probes add 5 %
_LINK_BUDGETS = (10, 100)
_LINKED_WORLDS = {"wonderproxy correlated": 6, "table1 correlated": 6}

_DEFAULT_PARTS = (
    *_each_stratum("wonderproxy", {stratum: round(_DEFAULT_PER_WEIGHT * weight) for stratum, weight in STRATA.items()}, first=20),
    Part("wonderproxy", "paper", 6, first_seed=20 * _APART),
    Part("5g-urban", "replay", 3, first_seed=20 * _APART),
    Part("5g-weak", "replay", 8, first_seed=20 * _APART),
)
_MEASURED_PACKETS = 4000  # with its history shorter than the shortest drive

_VERSIONED = (
    Suite("paper", "v0", PACKETS, tuple(Part(scenario, "paper", SEEDS) for scenario in ("wonderproxy", "cloud", "table1"))),
    Suite(
        "correlated",
        "v0",
        PACKETS,
        (
            *_each_stratum("wonderproxy", {stratum: round(_PER_WEIGHT * weight) for stratum, weight in STRATA.items()}),
            Part("wonderproxy", "correlated", SEEDS, stratum=NATURAL, first_seed=_APART * len(STRATA)),
            Part("stress", "correlated", SEEDS, stratum=ONE_SECOND_BURSTS, first_seed=_APART * (len(STRATA) + 1)),
        ),
    ),
    Suite(
        "measured",
        "v0",
        _MEASURED_PACKETS,
        (
            Part("5g-urban", "replay", SEEDS),
            Part("5g-weak", "replay", SEEDS),
            Part("starlink-ping", "replay", 4 * SEEDS, stratum=SATELLITE),
            Part("leo", "replay", 4 * SEEDS, stratum=NOT_SHIPPED),
        ),
    ),
    Suite("replay", "v0", PACKETS, (Part("leo", "replay", 40),)),
    Suite("stress", "v1", PACKETS, _each_stratum("stress", dict.fromkeys(MILD_STRESS, SEEDS), first=20)),
    Suite(
        "scale",
        "v0",
        PACKETS,
        (
            *(Part(f"synthetic-{paths}", mode, 2 * SEEDS) for paths in (9, 90, 900) for mode in ("paper", "correlated")),
            Part("world", "correlated", 1),
            Part("world", "paper", 1),
        ),
    ),
    Suite("order", "v0", 0, _each_kind("order"), ORDERED),
    Suite("rate", "v0", 0, _each_kind("rate", MEASURED), SENDER),
    Suite("calls", "v0", 0, _each_kind("calls"), SENDER),
    Suite("rmcat", "v0", 0, _each_kind("rmcat"), CASES),
    Suite("rmcat", "v1", 0, _each_kind("rmcat-extended", runs=EXTENDED_RUNS), CASES),
    Suite(
        "conference",
        "v0",
        0,
        tuple(Part(CONFERENCES, CONFERENCES, CONFERENCE_WORLDS, stratum=kind) for kind in ConferenceScenario.kinds),
        CONFERENCE,
    ),
    Suite(
        "whole",
        "v0",
        PACKETS,
        (*_whole("rate", ("steps", "cellular", "cubic", "wifi"), first=0), *_whole("calls", ("gcc", "mixed"), first=4)),
        WHOLE,
        _WHOLE,
    ),
    Suite(
        "protected",
        "v0",
        _MEASURED_PACKETS,
        tuple(
            part
            for budget in BUDGETS
            for part in (
                *_protected("losses in runs", LOSS_RUN_SLOTS, budget, _PROTECTED_WORLDS),
                *_protected("losses in runs", 1.0, budget, _PROTECTED_MEASURED),
                *_protected("independent losses", 1.0, budget, _PROTECTED_WORLDS),
            )
        ),
        PROTECTED,
        _PROTECTED,
    ),
    Suite(
        "protected-link",
        "v0",
        _MEASURED_PACKETS,
        tuple(
            part
            for load in LINK_LOADS
            for budget in _LINK_BUDGETS
            for part in _protected("losses in runs", LOSS_RUN_SLOTS, budget, _LINKED_WORLDS, load)
        ),
        LINKED,
        _PROTECTED,
    ),
)

SUITES = {
    "default": Suite("default", "v1", PACKETS, _DEFAULT_PARTS, systems=_DEFAULT),
    **{f"{suite.name}-{suite.version}": suite for suite in _VERSIONED},
}


REPLAYS: dict[str, Kind] = {"replay": PATHS, "rate-replay": SENDER, FITTED: PATHS}
"""Suites of traces of your own, or of a file fitted to them, scenarios of the same names, and the kind of their calls."""


def replay_suite(
    name: str, traces: Sequence[str], packets: int = PACKETS, split: str = "test", offsets: str = "own", direct: str | None = None
) -> Suite:
    """Make a suite of `REPLAYS`: `REPLAY_SEEDS` worlds per pair, or `RUNS` over a bottleneck; its version identifies the data.

    Args:
        name: key of `REPLAYS`.
        traces: trace files or their folder; the scenario file of suite `fitted`.
        packets: length of calls over paths, in slots.
        split: test, or all of what was measured.
        offsets: see `vcgym.network.scenarios.settings.WorldSettings`.
        direct: see the same.

    Raises:
        DataError: the traces cannot be played.
    """
    if REPLAYS[name] is PATHS:
        mode, chosen = "correlated" if name == FITTED else "replay", (("offsets", offsets), ("direct", direct))
        part = Part(name, mode, REPLAY_SEEDS, split, traces=tuple(traces), settings=chosen)
    else:
        part, packets = Part(name, BOTTLENECK, RUNS, split, stratum="replay", traces=tuple(traces)), 0
    suite = Suite(name, "", packets, (part,), REPLAYS[name])
    return suite._replace(version=suite.kind.card(suite.kind.open(part, packets))[:8])


def playable(suite: Suite) -> list[Part]:
    """Return the parts whose data are available: measured series and capacity are in folders of the data root."""
    return [part for part in suite.parts if has_data(part.scenario)]


def has_data(scenario: str) -> bool:
    """Return True if the data root has the folder that a scenario needs, if any; without the variable VCGYM_DATA there is no root."""
    return scenario not in _FOLDERS or (bool(os.environ.get(DATA_VARIABLE)) and (data_root() / _FOLDERS[scenario]).is_dir())


def prepare(suite: Suite) -> list[tuple[Part, Any]]:
    """Return the playable parts with their scenarios; missing or broken data raise an error before any call is played."""
    return opened(suite, playable(suite))


def opened(suite: Suite, parts: Iterable[Part]) -> list[tuple[Part, Any]]:
    """Return parts of a suite with their scenarios, each made once; for errors see `vcgym.leaderboard.evaluation.kinds.kind.Kind.open`."""
    made: dict[tuple[object, ...], Any] = {}
    found = []
    for part in parts:
        key = part.scenario, part.mode, part.traces, part.settings, part.budget, part.load
        if key not in made:
            made[key] = suite.kind.open(part, suite.packets)
        found.append((part, made[key]))
    return found


def columns_of(results: pa.Table) -> Columns:
    """Return the columns of the suite of results; for an unknown suite, those that its rows show (`columns_with`)."""
    named = set(zip(results["suite"].to_pylist(), results["suite_version"].to_pylist(), strict=True))
    known = [suite.columns for suite in SUITES.values() if (suite.name, suite.version) in named]
    fitting = [columns for columns in known if columns.ranked_by in results.schema.names]
    return next(iter(fitting), columns_with(results.schema.names))
