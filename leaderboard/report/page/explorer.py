"""Data that the page draws on demand, as compact JSON: delay distributions of each pair, and timelines of a few sessions."""

from collections.abc import Collection
from itertools import groupby
from typing import Any

import numpy as np

from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.results.cdf import GRID_MS, Cdfs, DelayCdf

STEP_MS = 20
MAX_PAIRS = 24  # per scenario, in alphabetical order
_STRIDE = int(STEP_MS / (GRID_MS[1] - GRID_MS[0]))
FIGURES = {
    "wonderproxy": "As the paper's Figures 9 to 11, on the pairs of this suite",
    "cloud": "As the paper's Figures 12 and 13, from public statistics",
    "synthetic": "As the paper's Figure 17",
}


def drawn_at_first(systems: list[str], kinds: dict[str, str], named: Collection[str]) -> list[str]:
    """Return the best system, the `named` ones, and the agents: more would crowd a figure."""
    return [name for number, name in enumerate(systems) if number == 0 or name in named or kinds[name] in AGENT_KINDS][:9]


def curves(cdfs: Cdfs, board: str, systems: list[str], of_accounting: str) -> list[dict[str, Any]]:
    """Return for each scenario of a board its pairs with each system's delay distribution in one accounting; see `_curve`."""
    found: dict[str, dict[str, dict[str, DelayCdf]]] = {}
    for (mode, scenario, pair, accounting), by_system in sorted(cdfs.items()):
        if (mode, accounting) == (board, of_accounting):
            found.setdefault(scenario, {})[pair] = by_system
    return [
        {
            "scenario": scenario,
            "note": FIGURES.get(scenario.partition("-")[0], ""),
            "left_out": max(0, len(pairs) - MAX_PAIRS),
            "pairs": [
                {"pair": pair, "curves": [_curve(by_system[name]) if name in by_system else [] for name in systems]}
                for pair, by_system in list(pairs.items())[:MAX_PAIRS]
            ],
        }
        for scenario, pairs in found.items()
    ]


def _curve(cdf: DelayCdf) -> list[int]:
    """Return the number of initial empty steps of `STEP_MS`, then shares of sent packets in thousandths, up to the last rise."""
    share = np.rint(1000.0 * cdf.share[::_STRIDE]).astype(int)
    first, last = int(np.searchsorted(share, 1)), int(np.searchsorted(share, share[-1]))
    return [first, *share[first : last + 1].tolist()]


def sessions(timelines: list[dict[str, Any]], systems: list[str]) -> list[dict[str, Any]]:
    """Return the saved sessions of a board; per system the median and maximum delay of each bin, losses, and runs of equal paths."""
    world = ("scenario", "stratum", "pair", "seed")
    rows = sorted(timelines, key=lambda row: [row[name] for name in world])
    found = []
    for (scenario, stratum, pair, seed), group in groupby(rows, lambda row: tuple(row[name] for name in world)):
        by_system = {row["system"]: row for row in group}
        any_row = next(iter(by_system.values()))
        found.append(
            {
                "title": f"{scenario}, {pair}, {stratum}, seed {seed}",
                "bin": any_row["packets_per_bin"],
                "paths": any_row["path_names"],
                "lines": [_line(by_system[name]) if name in by_system else None for name in systems],
            }
        )
    return found


def _line(row: dict[str, Any]) -> dict[str, Any]:
    runs = [next(places) for _, places in groupby(range(len(row["path"])), lambda index: row["path"][index])]
    return {
        "median": row["delay_median_ms"],
        "most": row["delay_most_ms"],
        "missing": {index: count for index, count in enumerate(row["missing"]) if count},
        "runs": [[index, row["path"][index]] for index in runs],
        "changes": sum(row["path_changes"]),
    }
