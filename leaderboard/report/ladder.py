"""The ladder of an environment, data/ladder.csv: what rules, learned and told controllers reach on validation worlds, by kind of worlds."""

import csv
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from vcgym.leaderboard.report.text_tables import TextTable
from vcgym.leaderboard.results.columns import interval_text
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain

ALL = "all"
"""Kind of the rows over all worlds."""


class Rung(NamedTuple):
    """Mean score of a system on the worlds of a kind, and its difference to the best published rule there, with its 95 % interval."""

    env: str
    kind: str
    role: str  # as in data/zoo_references.csv
    system: str
    worlds: int
    mean: float
    above: float
    low: float
    high: float


def ladder_path() -> Path:
    """Return the shipped file."""
    return Path(str(files("vcgym.data").joinpath("ladder.csv")))


def read_ladder() -> list[Rung]:
    """Return the rows of the shipped file."""
    found = csv.DictReader(StringIO(read_plain(ladder_path(), MAX_JSON_BYTES).decode()))
    numbers = Rung._fields[Rung._fields.index("mean") :]
    typed: list[dict[str, Any]] = [row | {"worlds": int(row["worlds"])} | {name: float(row[name]) for name in numbers} for row in found]
    return [Rung(**row) for row in typed]


def ladder_tables(env: str, decimals: int) -> list[TextTable]:
    """Return the table of an environment, a row for each step and a column for each kind of worlds; none without an environment."""
    rungs = {(rung.role, rung.kind): rung for rung in read_ladder() if rung.env == env}
    if not rungs:
        return []
    kinds, roles = (list(dict.fromkeys(key[part] for key in rungs)) for part in (1, 0))
    headings = [f"{kind} ({rungs[roles[0], kind].worlds})" for kind in kinds]
    rows = [[f"{role}: {rungs[role, ALL].system}", *(_cell(rungs[role, kind], decimals) for kind in kinds)] for role in roles]
    return [TextTable(f"What can be reached: {env}, validation worlds by kind", ["step", *headings], rows)]


def _cell(rung: Rung, decimals: int) -> str:
    """Return the mean, and the difference to the best published rule with its interval."""
    above = "" if rung.role == "published" else f", {interval_text(rung[6:], decimals, style='+')}"
    return f"{rung.mean:.{decimals}f}{above}"
