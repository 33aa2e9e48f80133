"""Suites: which worlds systems are ranked on. A suite's worlds never change; a changed suite gets a new version."""

from typing import NamedTuple

from vcgym.network.scenario import Scenario
from vcgym.network.splits import test_opened
from vcgym.network.strata import NATURAL


class Part(NamedTuple):
    """Worlds of one scenario in one mode: `seeds` worlds for each pair of the split, seeds counted from 0.

    Strata are drawn in the declared weights, or all worlds are of one `stratum`: `natural` is the mix in which bad hours come as measured.
    """

    scenario: str
    mode: str
    seeds: int
    split: str = "test"
    stratum: str | None = None


class Suite(NamedTuple):
    """Parts that are ranked by mode."""

    name: str
    version: str
    packets: int
    parts: tuple[Part, ...]


SUITES = {
    "first": Suite(
        "first",
        "v1",
        6000,
        (
            Part("wonderproxy", "correlated", 12),
            Part("wonderproxy", "correlated", 8, stratum=NATURAL),
            Part("table1", "correlated", 4),
            Part("wonderproxy", "paper", 4),
            Part("table1", "paper", 4),
            Part("leo", "replay", 24),
        ),
    ),
    "full": Suite(
        "full",
        "v0",
        6000,
        (
            Part("wonderproxy", "correlated", 12),
            Part("wonderproxy", "correlated", 12, stratum=NATURAL),
            Part("world", "correlated", 1),
            Part("world", "correlated", 1, stratum=NATURAL),
            Part("table1", "correlated", 4),
            Part("cloud", "correlated", 8),
            Part("stress", "correlated", 14),
            Part("wonderproxy", "paper", 4),
            Part("world", "paper", 1),
            Part("table1", "paper", 4),
            Part("cloud", "paper", 4),
            Part("synthetic-9", "paper", 8),
            Part("synthetic-90", "paper", 8),
            Part("leo", "replay", 24),
        ),
    ),
}


@test_opened()
def worlds(part: Part, scenario: Scenario) -> list[tuple[str, int]]:
    """Pair and seed of each world of a part; no two share a seed."""
    pairs = scenario.pairs(part.split)
    return [(pair, i * part.seeds + n) for i, pair in enumerate(pairs) for n in range(part.seeds)]
