"""The verdicts as a self-contained page with pictures, and as reproduction.md; the same verdicts give the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from lab.papers.arithmetic import ARITHMETIC, CONTRADICTORY, arithmetic_table
from lab.papers.causes import SHARES, causes_table
from lab.papers.judge import CANNOT, NOT, REPRODUCED, WORDS
from lab.papers.reproduce.config import ReproduceConfig
from lab.papers.reproduce.figures import distributions, over_time, relative_errors
from lab.papers.reproduce.parts import CORRELATED, MEDIAN, PAPER, REPLAY
from lab.papers.reproduce.verdicts import Worlds, shares
from lab.papers.vcroute.forecasts import SYSTEM
from lab.papers.vcroute.measures import Material, MissingError, of_pairs
from lab.papers.vcroute.statements import LATE_LEARNS
from lab.papers.verdicts import INPUT, shown, verdict_cell
from vcgym.baselines.systems import System
from vcgym.leaderboard.report.table import markdown_table, render
from vcgym.leaderboard.results.cdf import ACCOUNTINGS

Rows = Sequence[Mapping[str, Any]]

_HERE = Path(__file__).parent
MODES = (PAPER, MEDIAN, CORRELATED, REPLAY)
_WONDERPROXY = {9: "GR", 10: "ZA", 11: "SG"}
_CLOUD = {12: "TYO", 13: "SAO"}
_SCALE = ("synthetic-9", "synthetic-90", "synthetic-900")
_CALL_PACKETS = 6000  # length of the call over time


def page(rows: Rows, worlds: Worlds, config: ReproduceConfig, systems: Mapping[str, System]) -> str:
    """Return the page as text."""
    return render(_HERE / "reproduce.html.j2", **_context(rows, worlds, config, systems), pictures=list(_pictures(worlds, systems)))


def document(rows: Rows, worlds: Worlds, config: ReproduceConfig, systems: Mapping[str, System]) -> str:
    """Return reproduction.md: shares, causes of the gains, and the table in the paper's own accounting."""
    counted = [row for row in rows if row["accounting"] != ACCOUNTINGS[1]]
    tables = {"table": _table(rows), "causes": causes_table(counted), "arithmetic": arithmetic_table(rows)}
    return render(_HERE / "reproduction.md.j2", **_context(rows, worlds, config, systems), **tables)


def _table(rows: Rows) -> str:
    headings = ("statement", "source", "published", *MODES)
    lines = []
    for line in _lines(rows).values():
        if line["accounting"] != ACCOUNTINGS[1]:
            text = line["text"] + (LATE_LEARNS if LATE_LEARNS in line["statement"] else "")
            lines.append([text, line["source"], line["published"], *(_explained(line["cells"][mode], mode) for mode in MODES)])
    return markdown_table(headings, lines, headings)


def _explained(row: Mapping[str, Any] | None, mode: str) -> str:
    """Return the cell of a verdict; the reason why something cannot be judged appears once per line."""
    return verdict_cell(row, row["verdict"] == NOT or (row["verdict"] == CANNOT and mode == MODES[0])) if row else ""


def _context(rows: Rows, worlds: Worlds, config: ReproduceConfig, systems: Mapping[str, System]) -> dict[str, Any]:
    lines = _lines(rows)

    def ours(statement: str, mode: str, accounting: str = ACCOUNTINGS[0]) -> str:
        """Return one of our values with its interval as text."""
        return _cell(lines[statement, accounting]["cells"][mode])

    def met(pattern: str, mode: str) -> str:
        """Return the number of reproduced statements that match a pattern, and the number of all that match."""
        words = [
            line["cells"][mode]["verdict"]
            for (name, accounting), line in lines.items()
            if fnmatchcase(name, pattern) and accounting != ACCOUNTINGS[1] and line["cells"][mode] is not None
        ]
        return f"{words.count(REPRODUCED)} of {len(words)}"

    def one_path(scenario: str, mode: str) -> str:
        """Return the share of the calls of VCR-WM that use a single path."""
        material = worlds.get((scenario, mode))
        if material is None or material.results is None:
            return "not measured"
        used = material.results.filter(pc.field("system") == SYSTEM)["paths_used"].to_numpy()
        return f"{100.0 * np.mean(used == 1):.0f} %"

    checks = [row for row in rows if row["origin"] == ARITHMETIC]
    late = LATE_LEARNS.strip(" ()")
    return {
        "modes": MODES, "words": WORDS, "share_words": SHARES, "lines": list(lines.values()),
        "ours": ours, "met": met, "one_path": one_path, "config": config,
        "shares": {"as the listing is printed": shares(rows, False), late: shares(rows, True)},
        "inputs": len({row["statement"] for row in rows if row["origin"] == INPUT}), "late_learns": LATE_LEARNS, "late": late,
        "checks": checks, "contradictions": sum(row["verdict"] == CONTRADICTORY for row in checks),
        "predictor": type(systems[SYSTEM].path.predictor).__name__, "cell": _cell, "accountings": ACCOUNTINGS,
    }  # fmt: skip


def _lines(rows: Rows) -> dict[tuple[str, str], dict[str, Any]]:
    """Return a line per statement and accounting, with its row of each mode."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in (row for row in rows if row["origin"] != ARITHMETIC):
        line = lines.setdefault((row["statement"], row["accounting"]), {**row, "cells": dict.fromkeys(MODES)})
        line["cells"][row["mode"]] = row
    return lines


def _cell(row: Mapping[str, Any] | None) -> str:
    return shown(row) if row else ""


def _pictures(worlds: Worlds, systems: Mapping[str, System]) -> Iterator[tuple[str, str]]:
    """Yield caption and SVG of every picture whose worlds were played."""
    for mode in (PAPER, MEDIAN, CORRELATED):
        for number, host in _WONDERPROXY.items():
            yield from _panels(worlds, mode, f"Figure {number}: {host}", [("wonderproxy", f"{host}-*")])
        for number, host in _CLOUD.items():
            yield from _panels(worlds, mode, f"Figure {number}: {host}", [("cloud", f"{host}-UserS[ZG]")])
        yield from _panels(worlds, mode, "Figure 17: 9, 90, 900 paths", [(name, "*") for name in _SCALE])
    yield from _errors(worlds)
    yield from _calls(worlds, systems)


def _panels(worlds: Worlds, mode: str, title: str, where: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    panels = []
    for scenario, pattern in where:
        material = worlds.get((scenario, mode))
        if material is not None and material.results is not None:
            calls = of_pairs(material.results, pattern)
            pairs = sorted(set(calls["pair"].to_pylist()))
            panels += [(pair if len(pairs) > 1 else scenario, of_pairs(calls, pair)) for pair in pairs]
    if panels:
        caption = f"{title}. Mode {mode}, event accounting; lost and late packets keep a curve below 100 %."
        yield caption, distributions(f"{title} ({mode})", panels)


def _errors(worlds: Worlds) -> Iterator[tuple[str, str]]:
    curves = []
    for mode in (PAPER, MEDIAN, CORRELATED):
        material: Material | None = worlds.get(("wonderproxy", mode))
        if material is not None:
            try:
                curves.append((mode, of_pairs(material.forecasts, "ZA-IDN")))
            except MissingError:
                continue
    if curves:
        title = "Figure 14: relative error, ZA to IDN"
        yield f"{title}. The text says that more than 80 % of forecasts are within 10 % of the delay.", relative_errors(title, curves)


def _calls(worlds: Worlds, systems: Mapping[str, System]) -> Iterator[tuple[str, str]]:
    shown_systems = {name: systems[name] for name in ("DRT-BF", "DRT-WM", "VCR-WM")}
    for mode in (PAPER, CORRELATED):
        if ("wonderproxy", mode) in worlds:
            scenario = worlds["wonderproxy", mode].scenario
            assert scenario is not None
            short = type(scenario)("wonderproxy", scenario.mode, _CALL_PACKETS, burst=scenario.settings.burst)
            title = f"A call over time, GR to UGA ({mode})"
            yield (
                f"{title}. In place of Figures 4, 8, 15 and 16, which the text we have does not describe.",
                over_time(title, short, "GR-UGA", shown_systems),
            )
