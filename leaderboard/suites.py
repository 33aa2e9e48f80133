"""Suites: which worlds systems are ranked on. A suite's worlds never change; a changed suite gets a new version."""

from typing import NamedTuple

from vcgym.network.scenario import Scenario
from vcgym.network.splits import test_opened


class Part(NamedTuple):
    """Worlds of one scenario in one mode: `seeds` worlds for each pair of the split, seeds counted from 0."""

    scenario: str
    mode: str
    seeds: int
    split: str = "test"


class Suite(NamedTuple):
    """Parts that are ranked by mode."""

    name: str
    version: str
    packets: int
    parts: tuple[Part, ...]


SUITES = {
    "first": Suite(
        "first",
        "v0",
        6000,
        (
            Part("wonderproxy", "correlated", 12),
            Part("table1", "correlated", 4),
            Part("wonderproxy", "paper", 4),
            Part("table1", "paper", 4),
            Part("leo", "replay", 24),
        ),
    )
}


@test_opened()
def worlds(part: Part, scenario: Scenario) -> list[tuple[str, int]]:
    """Pair and seed of each world of a part; no two share a seed."""
    pairs = scenario.pairs(part.split)
    return [(pair, i * part.seeds + n) for i, pair in enumerate(pairs) for n in range(part.seeds)]
