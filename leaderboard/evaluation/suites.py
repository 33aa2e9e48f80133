"""Suites: which worlds systems are ranked on. A suite's worlds never change; a changed suite gets a new version (see `frozen`).

first           quick, what `make leaderboard` plays
paper-v0        mode paper: the VCRoute paper's two settings and its motivation
correlated-v0   mode correlated: the declared strata in their weights, then the natural mix and one-second bursts, each by itself
replay-v0       measured series
stress-v0       what goes wrong on purpose
scale-v0        9 to 900 paths, and places no system was made for
replay          traces of your own (`replay_suite`)
"""

from collections.abc import Sequence
from typing import NamedTuple

from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.scenarios.stress import ONE_SECOND_BURSTS, STRESS
from vcgym.network.worlds.strata import NATURAL, STRATA


class Part(NamedTuple):
    """Worlds of one scenario in one mode: `seeds` worlds for each pair of the split, seeds counted from `first_seed`.

    Strata are drawn in the declared weights, or all worlds are of one `stratum`: `natural` is the mix in which bad hours come as measured.
    """

    scenario: str
    mode: str
    seeds: int
    split: str = "test"
    stratum: str | None = None
    first_seed: int = 0
    traces: tuple[str, ...] = ()  # of scenario replay

    def open(self, packets: int) -> Scenario:
        """Make the scenario, for calls of `packets` slots."""
        return Scenario(self.scenario, self.mode, packets, traces=self.traces or None)


class Suite(NamedTuple):
    """Parts that are ranked by mode."""

    name: str
    version: str
    packets: int
    parts: tuple[Part, ...]


PACKETS = 6000
SEEDS = 10  # of each kind of world at least
REPLAY_SEEDS = 24
_PER_WEIGHT = 100  # worlds of a pair over all strata; the smallest weight is 10 %
_APART = 1000  # seeds between strata: their worlds share no draw


def _each_stratum(scenario: str, seeds: dict[str, int]) -> tuple[Part, ...]:
    """One part for each stratum, no two with a seed in common."""
    return tuple(
        Part(scenario, "correlated", n, stratum=stratum, first_seed=_APART * place) for place, (stratum, n) in enumerate(seeds.items())
    )


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
    Suite("replay", "v0", PACKETS, (Part("leo", "replay", 40),)),
    Suite("stress", "v0", PACKETS, _each_stratum("stress", dict.fromkeys(STRESS, SEEDS))),
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


REPLAY = "replay"


def replay_suite(traces: Sequence[str], packets: int = PACKETS) -> Suite:
    """Make the suite of traces of your own: a part of `REPLAY_SEEDS` worlds per pair; its version names the data.

    Raises:
        DataError: see `vcgym.network.scenarios.replay`.
    """
    part = Part("replay", "replay", REPLAY_SEEDS, traces=tuple(traces))
    return Suite(REPLAY, part.open(packets).layout.card[:8], packets, (part,))


@unlock_test_split()
def worlds(part: Part, scenario: Scenario) -> list[tuple[str, int]]:
    """Return pair and seed of each world of a part; no two share a seed."""
    pairs = scenario.pairs(part.split)
    return [(pair, part.first_seed + i * part.seeds + n) for i, pair in enumerate(pairs) for n in range(part.seeds)]
