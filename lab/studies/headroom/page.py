"""lab/notes/headroom.md from headroom rows: the same bytes for the same rows."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from lab.studies.headroom.table import ALL
from lab.studies.oracles.rating import GAP
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.report.template import render

_ROOMS = ("room", "room, routing", "room, playout")


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole page as Markdown."""
    sections = []
    for (suite, version, mode), part in groupby(rows, lambda row: (row["suite"], row["suite_version"], row["mode"])):
        cells = [list(cell) for _, cell in groupby(part, lambda row: row["stratum"])]
        cells.sort(key=lambda cell: (cell[0]["stratum"] == ALL, cell[0]["stratum"]))
        sections.append(f"## Suite {suite}-{version}, mode {mode}\n")
        sections += [_systems(cells), _rooms(cells)]
    return render(Path(__file__).with_name("headroom.md.j2"), gap=GAP, sections=sections)


def _systems(cells: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    what = list(dict.fromkeys(row["what"] for cell in cells for row in cell if row["what"] not in _ROOMS))
    rows = []
    for cell in cells:
        found = {row["what"]: row for row in cell}
        rows.append([_where(cell), *(_cell(found.get(name), name.startswith("best")) for name in what)])
    return "R / mouth-to-ear ms / concealed %\n\n" + markdown_table(["stratum (worlds)", *what], rows, text=("stratum (worlds)",))


def _rooms(cells: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    rows = []
    for cell in cells:
        found = {row["what"]: row for row in cell}
        if _ROOMS[0] in found:
            rows.append([_where(cell), *(_cell(found.get(name), False, "+") for name in _ROOMS)])
    return "Room above the best published: R / ms / points of concealment\n\n" + markdown_table(
        ["stratum (worlds)", *_ROOMS], rows, text=("stratum (worlds)",)
    )


def _where(cell: Sequence[Mapping[str, Any]]) -> str:
    return f"{cell[0]['stratum']} ({cell[0]['worlds']})"


def _cell(row: Mapping[str, Any] | None, named: bool, sign: str = "") -> str:
    if row is None:
        return ""
    shown = f"{row['r']:{sign}.2f} / {row['mouth_to_ear_mean_ms']:{sign}.0f} / {100.0 * row['concealed_share']:{sign}.2f}"
    return f"{row['system']} {shown}" if named else shown
