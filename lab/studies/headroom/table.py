"""The headroom of each stratum: mean results of the best systems and of the oracles, and their differences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lab.studies.headroom.oracle_rows import JOINT as LIMITS
from vcgym.leaderboard.evaluation.bars import TUNED, bar_of
from vcgym.leaderboard.report.board import BY_NAME, board_name
from vcgym.leaderboard.results.kinds import CALL

JOINT = tuple(f"oracle_joint_{name}" for name in LIMITS if name != "any")
MEASURED = {"r": "R", "mouth_to_ear_mean_ms": "ms", "concealed_share": "%"}
CELL = ("suite", "suite_version", "mode", "stratum")
ALL = "all"

COLUMNS: dict[str, str] = {
    **dict.fromkeys((*CELL, "what", "system"), "string"),
    "worlds": "int64",
    **dict.fromkeys(MEASURED, "float64"),
}
"""`headroom.parquet`: one row per cell and `what`; of the rooms, values are differences to the best published system."""


class HeadroomLine(NamedTuple):
    """Row of the table: a system's means, or the difference of two systems' means on the same worlds."""

    what: str
    system: str
    values: dict[str, float]


def headroom(results: pa.Table) -> list[dict[str, Any]]:
    """Return rows of `COLUMNS` per suite, mode and stratum, and per mode (stratum `all`) without strata sampled only by name.

    Args:
        results: rows of a leaderboard run, including its oracles.
    """
    found = []
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in results.to_pylist():
        key = tuple(row[name] for name in CELL)
        cells.setdefault(key, []).append(row)
        if row["stratum"] not in BY_NAME:
            cells.setdefault((*key[:-1], ALL), []).append(row)
    for key in sorted(cells):
        rows = cells[key]
        worlds = len({(row["scenario"], row["stratum"], row["pair"], row["seed"]) for row in rows})
        found += [
            dict(zip(CELL, key, strict=True)) | {"what": line.what, "system": line.system, "worlds": worlds} | line.values
            for line in _lines(rows, bar_of("-".join(key[:2]), board_name(key[2], key[3])))
        ]
    return found


def _lines(rows: Iterable[Mapping[str, Any]], bar: str) -> list[HeadroomLine]:
    means = _means(rows)
    kinds = {row["system"]: row["kind"] for row in rows}
    rules = [name for name in means if kinds[name] == "rule"]
    published = _best(means, [name for name in rules if name in CALL.published])
    tuned = [name for name in means if kinds[name] == TUNED] or [name for name in rules if name not in CALL.published]
    reference = bar if bar in means else _best(means, tuned)
    agent = _best(means, [name for name in means if kinds[name] == "agent"])
    named = {"best published": published, "best tuned rule": reference, "best agent": agent, "informed": CALL.informed}
    named |= {name.removeprefix("oracle_").replace("_", " k = "): name for name in JOINT}
    lines = [HeadroomLine(what, name, means[name]) for what, name in named.items() if name in means]
    if published in means:
        ways = {
            "room": CALL.hundred,
            "room, routing": f"oracle_routing_{published}",
            "room, playout": f"oracle_playout_{published}",
        }
        lines += [HeadroomLine(what, name, _minus(means[name], means[published])) for what, name in ways.items() if name in means]
    return lines


def _means(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return per system the mean of each measured column over the worlds with a value."""
    by_system: dict[str, list[list[float]]] = {}
    for row in rows:
        by_system.setdefault(row["system"], []).append([row[name] for name in MEASURED])
    return {name: dict(zip(MEASURED, map(float, np.nanmean(values, axis=0)), strict=True)) for name, values in by_system.items()}


def _best(means: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """Return the name with the highest mean R; "" if there are no names."""
    return max(names, key=lambda name: (means[name]["r"], name), default="")


def _minus(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one[name] - other[name] for name in MEASURED}
