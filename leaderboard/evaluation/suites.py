"""Suites: worlds on which systems are ranked. The worlds of a suite never change; a changed suite gets a new version (see `frozen`).

quick-v2        the suite of `make leaderboard`: detects a difference of 1 R between two named systems (mode correlated, power 80 %)
first           its predecessor, with measured series if available
paper-v0        mode paper: the VCRoute paper's two settings and its motivation
correlated-v0   mode correlated: the declared strata with their weights; then the natural mix and one-second bursts separately
replay-v0       measured series
stress-v0       deliberate faults; its delay steps of 30 s test robustness rather than quality
stress-v1       the same with delay steps of 50 to 500 ms
scale-v0        9 to 900 paths, and locations that no system was designed for
order-v0        over a bottleneck: every kind of the scenario `order`, 30 calls each, as in S1
calls-v0        every kind of `calls`, 30 calls each
rmcat-v0        every kind of `rmcat`, the test cases of RFC 8867 and RFC 8869, 30 runs each
rmcat-v1        every kind of `rmcat-extended`, those that rmcat-v0 leaves out, 12 runs each
conference-v0   every kind of `conference`, 12 worlds each
rate-v0         every kind of `rate`, and of `rate-measured` if its traces are available, 30 calls each
replay          your own traces, one per path (`replay_suite`)
rate-replay     your own capacity traces
fitted          worlds of a scenario file that you fitted to your own traces
"""

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from vcgym.baselines.controls.control import BOTTLENECK as BOTTLENECK
from vcgym.baselines.controls.control import CONFERENCE as _CONFERENCE
from vcgym.baselines.controls.control import PATHS as PATHS
from vcgym.baselines.controls.control import Control, controls_of
from vcgym.leaderboard.results.call_columns import CALL
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.conference_columns import CONFERENCE
from vcgym.leaderboard.results.files import columns_with
from vcgym.leaderboard.results.sender_columns import ORDER, RATE, RMCAT
from vcgym.network.bottleneck.capacity.sets import FOLDER as BANDWIDTH
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.overlay.world import ConferenceWorld
from vcgym.network.scenarios.bottleneck import recipe as bottleneck_recipe
from vcgym.network.scenarios.bottleneck.rmcat import CASES
from vcgym.network.scenarios.bottleneck.rmcat_extended import EXTENDED_CASES
from vcgym.network.scenarios.bottleneck.sending_scenarios import LOSS, RTT_MS, SEND_QUEUE, SENDING_SCENARIOS, SendingScenario
from vcgym.network.scenarios.conference import ConferenceScenario
from vcgym.network.scenarios.paths.leo import FOLDER as LEO
from vcgym.network.scenarios.paths.stress import MILD_STRESS, ONE_SECOND_BURSTS, STRESS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.cards import DATA_VARIABLE, data_root
from vcgym.network.worlds.strata import NATURAL, STRATA

CONFERENCES: Final = _CONFERENCE
"""Simulation of conferences, and the name of their scenario."""
MEASURED = "rate-measured"
FITTED = "fitted"
"""Suite of a scenario file, and the name of its scenario."""

_FOLDERS = {"leo": LEO, MEASURED: BANDWIDTH}
"""Scenario -> folder of the data root without which it cannot be played."""

AnyScenario = Scenario | SendingScenario | ConferenceScenario


class Part(NamedTuple):
    """Worlds of one scenario in one mode: `seeds` worlds for each pair of the split, with seeds from `first_seed` on.

    `mode` is the column of result rows: how statistics become packets, or the simulation where worlds have no mode. Strata are sampled
    with the declared weights, or all worlds are of one `stratum`; `natural` is the mix with bad hours as frequent as measured. For a
    bottleneck both the stratum and the pair are the kind of world.
    """

    scenario: str
    mode: str
    seeds: int
    split: str = "test"
    stratum: str | None = None
    first_seed: int = 0
    traces: tuple[str, ...] = ()  # only for scenarios replay and rate-replay; of `fitted` the scenario file
    offsets: str = "own"  # only for scenario replay, as is `direct`; see `vcgym.network.scenarios.scenario.Scenario`
    direct: str | None = None

    @property
    def simulation(self) -> str:
        """Simulation that plays the scenario: `PATHS`, `BOTTLENECK` or `CONFERENCES`."""
        if self.scenario == CONFERENCES:
            return CONFERENCES
        return BOTTLENECK if self.scenario in SENDING_SCENARIOS else PATHS

    def open(self, packets: int) -> AnyScenario:
        """Make the scenario; calls over paths have `packets` slots.

        Raises:
            DataError: data are missing or broken.
        """
        if self.simulation == CONFERENCES:
            return ConferenceScenario(self.scenario)
        if self.simulation == BOTTLENECK:
            return SendingScenario(self.scenario, traces=self.traces or None)
        if self.scenario == FITTED:
            return Scenario(self.traces[0], self.mode, packets)
        return Scenario(self.scenario, self.mode, packets, traces=self.traces or None, offsets=self.offsets, direct=self.direct)


class Suite(NamedTuple):
    """Parts, ranked by mode, and the columns of their rows.

    `packets` is the length of calls over paths; `systems` play by default, or all that fit if it is empty.
    """

    name: str
    version: str
    packets: int
    parts: tuple[Part, ...]
    columns: Columns = CALL
    systems: tuple[str, ...] = ()

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios, without duplicates."""
        return tuple(dict.fromkeys(part.scenario for part in self.parts))

    @property
    def controls(self) -> tuple[Control, ...]:
        """Controls that its calls have; all parts have the same simulation."""
        return controls_of(self.parts[0].simulation)


PACKETS = 6000
SEEDS = 10  # minimum for each kind of world
REPLAY_SEEDS = 24
_PER_WEIGHT = 100  # worlds of a pair over all strata; the smallest weight is 10 %
_QUICK_PER_WEIGHT = 40
_APART = 1000  # distance of seeds between strata, so that their worlds share no random numbers
_QUICK = (
    "BEST-WM", "DRT-BF", "DRT-EWMA", "DRT-EWMA-tuned", "DRT-FIX", "DRT-NEQ", "DRT-NEQ-tuned", "DRT-QTL", "DRT-WM", "DTS-WM",
    "DTS-WM-tuned", "GRD+EWMA-tuned", "GRD+EWMAH-tuned", "GRD+WMH-tuned", "GRD-WM", "GRD-WM-tuned", "LEARNED", "LEARNED-correlated",
    "LEARNED-start", "LIN+EWMA-tuned", "LIN+EWMAH-tuned", "LIN-WM", "LIN-WM-tuned", "RND-WM", "SWTS-WM", "SWTS-WM-tuned",
    "VCR-BF", "VCR-WM", "VCR-WM-tuned", "VCR2+NEQ-paper-tuned", "VCR2-WM", "VCR2-WM-tuned", "VCR5-WM", "VIA-BF", "VIA-WM",
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
    "rmcat": tuple(CASES),
    "rmcat-extended": tuple(EXTENDED_CASES),
}


def _each_kind(*scenarios: str, runs: int = RUNS) -> tuple[Part, ...]:
    return tuple(Part(scenario, BOTTLENECK, runs, stratum=kind) for scenario in scenarios for kind in _KINDS[scenario])


_VERSIONED = (
    Suite(
        "quick",
        "v2",
        PACKETS,
        (
            *_each_stratum("wonderproxy", {stratum: round(_QUICK_PER_WEIGHT * weight) for stratum, weight in STRATA.items()}, first=20),
            Part("wonderproxy", "paper", 6, first_seed=20 * _APART),
        ),
        systems=_QUICK,
    ),
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
    Suite("replay", "v0", PACKETS, (Part("leo", "replay", 40),)),
    Suite("stress", "v0", PACKETS, _each_stratum("stress", dict.fromkeys(STRESS, SEEDS))),
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
    Suite("order", "v0", 0, _each_kind("order"), ORDER),
    Suite("rate", "v0", 0, _each_kind("rate", MEASURED), RATE),
    Suite("calls", "v0", 0, _each_kind("calls"), RATE),
    Suite("rmcat", "v0", 0, _each_kind("rmcat"), RMCAT),
    Suite("rmcat", "v1", 0, _each_kind("rmcat-extended", runs=EXTENDED_RUNS), RMCAT),
    Suite(
        "conference",
        "v0",
        0,
        tuple(Part(CONFERENCES, CONFERENCES, CONFERENCE_WORLDS, stratum=kind) for kind in ConferenceScenario.kinds),
        CONFERENCE,
    ),
)

SUITES = {
    "first": Suite(
        "first",
        "v1",
        PACKETS,
        (
            Part("wonderproxy", "correlated", 12),
            Part("wonderproxy", "correlated", 8, stratum=NATURAL),
            Part("table1", "correlated", 4),
            Part("wonderproxy", "paper", 4),
            Part("table1", "paper", 4),
            Part("leo", "replay", 24),
        ),
    ),
    **{f"{suite.name}-{suite.version}": suite for suite in _VERSIONED},
}


REPLAYS = {"replay": CALL, "rate-replay": RATE, FITTED: CALL}
"""Suites of traces of your own, or of a file fitted to them, scenarios of the same names, and the columns of their rows."""


def replay_suite(
    name: str, traces: Sequence[str], packets: int = PACKETS, split: str = "test", offsets: str = "own", direct: str | None = None
) -> Suite:
    """Make a suite of `REPLAYS`: `REPLAY_SEEDS` worlds per pair, or `RUNS` over a bottleneck; its version identifies the data.

    Args:
        name: key of `REPLAYS`.
        traces: trace files or their folder; the scenario file of suite `fitted`.
        packets: length of calls over paths, in slots.
        split: test, or all of what was measured.
        offsets: see `vcgym.network.scenarios.scenario.Scenario`.
        direct: see the same.

    Raises:
        DataError: the traces cannot be played.
    """
    if REPLAYS[name] is CALL:
        mode = "correlated" if name == FITTED else "replay"
        part = Part(name, mode, REPLAY_SEEDS, split, traces=tuple(traces), offsets=offsets, direct=direct)
    else:
        part, packets = Part(name, BOTTLENECK, RUNS, split, stratum="replay", traces=tuple(traces)), 0
    return Suite(name, data_hash(part.open(packets))[:8], packets, (part,), REPLAYS[name])


def playable(suite: Suite) -> list[Part]:
    """Return the parts whose data are available: measured series and capacity are in folders of the data root."""
    return [part for part in suite.parts if part.scenario not in _FOLDERS or _is_there(_FOLDERS[part.scenario])]


def _is_there(folder: str) -> bool:
    """Return True if the data root has `folder`; without the environment variable VCGYM_DATA there is no root."""
    return bool(os.environ.get(DATA_VARIABLE)) and (data_root() / folder).is_dir()


def prepare(suite: Suite) -> list[tuple[Part, AnyScenario]]:
    """Return the playable parts with their scenarios; missing or broken data raise an error before any call is played."""
    opened: dict[tuple[object, ...], AnyScenario] = {}
    found = []
    for part in playable(suite):
        key = part.scenario, part.mode, part.traces, part.offsets, part.direct
        if key not in opened:
            opened[key] = part.open(suite.packets)
        found.append((part, opened[key]))
    return found


def data_hash(scenario: AnyScenario) -> str:
    """Return the hash of a scenario's data, the column `card` of result rows."""
    if isinstance(scenario, ConferenceScenario):
        return scenario.card
    return scenario.layout.card if isinstance(scenario, Scenario) else bottleneck_recipe.data_hash(scenario)


def columns_of(results: pa.Table) -> Columns:
    """Return the columns of the suite of results; for an unknown suite, those that its rows show (`columns_with`)."""
    named = set(zip(results["suite"].to_pylist(), results["suite_version"].to_pylist(), strict=True))
    known = [suite.columns for suite in SUITES.values() if (suite.name, suite.version) in named]
    fitting = [columns for columns in known if columns.ranked_by in results.schema.names]
    return next(iter(fitting), columns_with(results.schema.names))


@unlock_test_split()
def worlds(part: Part, scenario: AnyScenario) -> list[tuple[str, int]]:
    """Return pair and seed of each world of a part; seeds are distinct."""
    pairs = scenario.pairs(part.split) if isinstance(scenario, Scenario) else [part.stratum or ""]
    return [(pair, part.first_seed + i * part.seeds + n) for i, pair in enumerate(pairs) for n in range(part.seeds)]


@unlock_test_split()
def links(scenario: SendingScenario, split: str, which: list[tuple[str, int]]) -> list[SharedLink]:
    """Sample worlds of a bottleneck; `which` has kind and seed of each."""
    return [scenario.draw(split, seed, kind) for kind, seed in which]


@unlock_test_split()
def conferences(scenario: ConferenceScenario, part: Part, which: list[tuple[str, int]]) -> list[ConferenceWorld]:
    """Return the drawn conferences of a part; `which` has kind and seed of each."""
    return [scenario.draw(part.split, seed, kind) for kind, seed in which]
