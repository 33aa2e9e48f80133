"""The leaderboard's Parquet files: results (without measured times), delay distributions, and timing.

A file is a function of its rows: they are sorted by key, the order of columns is fixed, and nothing else is stored. So equal rows give
equal bytes on one platform and software stack.
"""

from collections.abc import Iterable, Mapping
from io import BytesIO
from numbers import Integral, Real
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.baselines.controls.control import LOGGED, added_stages
from vcgym.leaderboard.results.columns import IDENTITY, MEASURED_TIME, WORLD, Columns
from vcgym.leaderboard.results.kinds import CALL, LINKED, PROTECTED, RATE, RMCAT, WHOLE
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.plain_file import read_plain, replace_file
from vcgym.network.traces.refusal import shown

MAX_BYTES = 1 << 30  # maximum size of a file to read
_TAKES = {pa.string(): str, pa.int64(): Integral, pa.float64(): Real}
_LISTS = {"int64s": pa.list_(pa.int64()), "strings": pa.list_(pa.string())}


class FileLayout(NamedTuple):
    """Ordered columns of a file, the unique key by which its rows are sorted, and the columns that an older file may lack."""

    schema: pa.Schema
    key: tuple[str, ...]
    newer: frozenset[str] = frozenset()


def layout_of(columns: Mapping[str, str], key: tuple[str, ...]) -> FileLayout:
    """Return the layout of a file.

    Args:
        columns: name -> Arrow type name, or "int64s" or "strings" for lists.
        key: columns by which the rows are sorted.
    """
    types = {name: _LISTS.get(kind) or pa.type_for_alias(kind) for name, kind in columns.items()}
    return FileLayout(pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()]), key)


def results_of(columns: Columns) -> FileLayout:
    """Return the layout of `results.parquet`, one row per system and world, and of `oracles.parquet`, the same for oracles.

    An older file may lack any metric but that of the ranks and the mark of its kind, and what was measured when.
    """
    measured = MEASURED_TIME.keys() & columns.types.keys()
    newer = frozenset(column.name for column in columns.metrics) - {columns.ranked_by, columns.mark} | measured
    return layout_of(columns.types, (*WORLD, "system"))._replace(newer=newer)


RESULTS = results_of(CALL)
"""`results.parquet` of calls over paths."""

HINDSIGHT = "hindsight.parquet"
"""Shipped rows of the oracle with anchored score 100 on the worlds of default (`lab.shipped.hindsight`)."""

DELAY_CDF = layout_of(
    dict.fromkeys(("system", "mode", "scenario", "pair", "accounting"), "string") | {"packets_sent": "int64", "packets_within": "int64s"},
    ("mode", "scenario", "pair", "accounting", "system"),
)
"""`cdf.parquet`: of `packets_sent`, how many were received within each delay of `cdf.GRID_MS`; `mode` is a board's."""

TIMELINE = layout_of(
    {name: IDENTITY[name] for name in ("system", *WORLD)}
    | {"packets_per_bin": "int64", "path_names": "strings"}
    | dict.fromkeys(("delay_median_ms", "delay_most_ms", "missing", "path", "path_changes"), "int64s"),
    (*WORLD, "system"),
)
"""`timeline.parquet`: a few sessions, bin by bin; see `call_metrics.timelines`."""

ACTIONS = layout_of(
    {name: CALL.types[name] for name in ("system", "suite", "suite_version", *WORLD, "card", "env", "packets")}
    | dict.fromkeys(LOGGED, "int64s")
    | {"rule": "string"},
    (*WORLD, "system"),
)
"""`actions.parquet`: what each agent decided, decision by decision: an index for each control.

A control that the agent did not set has an empty list; `rule` is the system whose rule set it."""

TIMING = layout_of(
    {"system": "string", "mode": "string", "decision_us": "float64", "wall_clock_s": "float64", "hardware": "string"},
    ("mode", "system"),
)
"""`timing.parquet`: mean time of one decision, time of the whole rollout, and the machine both were measured on."""


def write(layout: FileLayout, rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Check `rows` against `layout` and atomically replace `path` by them.

    Raises:
        ValueError: see `table`.
    """
    buffer = BytesIO()
    pq.write_table(table(layout, rows, path.name), buffer, compression="zstd")
    replace_file(path, buffer.getvalue())


def table(layout: FileLayout, rows: Iterable[Mapping[str, Any]], name: str) -> pa.Table:
    """Return `rows` as a table, checked against `layout` and sorted by its key; errors use `name` for the table.

    Raises:
        ValueError: a row lacks a column or has an unknown one, a value has the wrong type, or two rows share a key.
    """
    rows = list(rows)
    require_columns(layout, rows, name)
    columns = [_column(layout.schema.field(column), [row[column] for row in rows], name) for column in layout.schema.names]
    found = pa.Table.from_arrays(columns, schema=layout.schema).sort_by([(key, "ascending") for key in layout.key])
    _refuse_duplicates(found, layout, name)
    return found


def require_columns(layout: FileLayout, rows: Iterable[Mapping[str, Any]], name: str) -> None:
    """Check that each row has the columns of `layout`; errors use `name` for the rows' file.

    Raises:
        ValueError: a row lacks a column or has an unknown one.
    """
    for number, row in enumerate(rows):
        _refuse_other_columns(row, layout.schema.names, f"row {number} for {name}")


def read(layout: FileLayout, path: Path) -> pa.Table:
    """Return the table in `path`; a column of `layout.newer` that the file lacks is null in every row.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is not a Parquet file, its columns or types differ from `layout` otherwise, a value is null, or two rows share a key.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no leaderboard file {path}")
    try:
        stored = pq.read_table(pa.BufferReader(read_plain(path, MAX_BYTES)))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a whole Parquet file: {shown(str(error))}") from error
    for name in sorted(layout.newer - set(stored.schema.names)):
        stored = stored.append_column(name, pa.nulls(len(stored), layout.schema.field(name).type))
    _refuse_other_columns(stored.schema.names, layout.schema.names, str(path))
    stored = stored.select(layout.schema.names)
    for found, wanted in zip(stored.schema, layout.schema, strict=True):
        if found.type != wanted.type:
            raise ValueError(f"{path}: column {wanted.name!r} holds {found.type}, wanted {wanted.type}")
        if stored[found.name].null_count and found.name not in layout.newer:
            raise ValueError(f"{path}: column {found.name!r} holds null; allowed: values in every row")
    _refuse_duplicates(stored, layout, str(path))
    return stored


def read_results(path: Path) -> pa.Table:
    """Return the result rows of a run, of calls of any kind.

    Raises:
        FileNotFoundError, ValueError: see `read`.
    """
    try:
        names = pq.read_schema(path).names if path.is_file() else []
    except (pa.ArrowException, OSError):
        names = []  # `read` raises the error
    return read(results_of(columns_with(names)), path)


def columns_with(names: Iterable[str]) -> Columns:
    """Return the columns of the suites whose mark is among the `names` of a file's columns; without a mark, those of calls over paths."""
    known = set(names)
    added = (resolve_name(stage.kind).columns for stage in added_stages())
    return next((columns for columns in (WHOLE, LINKED, PROTECTED, RMCAT, RATE, *added) if columns.mark in known), CALL)


def read_with_oracles(folder: Path) -> pa.Table:
    """Return the results of the run in `folder`, followed by the oracles of its worlds, as shipped if `python -m lab headroom`
    was not run.

    Raises:
        FileNotFoundError, ValueError: see `read`, for either file.
    """
    played, oracles = read_results(folder / "results.parquet"), folder / "oracles.parquet"
    made = read(RESULTS, oracles if oracles.is_file() else shipped() / HINDSIGHT)
    worlds = set(_worlds(played)) if "packets" in played.column_names else set()
    found = made.filter(pa.array([world in worlds for world in _worlds(made)], pa.bool_()))
    if not found.num_rows:
        return played
    for name in ("suite", "suite_version"):  # suites may share worlds
        of_run = pa.repeat(played[name][0], found.num_rows)
        found = found.set_column(found.column_names.index(name), found.schema.field(name), of_run)
    return pa.concat_tables([played, found], promote_options="default")


def _worlds(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Return the world key of each row: the world, its data card and its length."""
    return list(zip(*(rows[name].to_pylist() for name in (*WORLD, "card", "packets")), strict=True))


def _refuse_other_columns(found: Iterable[str], wanted: list[str], location: str) -> None:
    found = set(found)
    missing, unknown = sorted(set(wanted) - found), sorted(found - set(wanted))
    if missing or unknown:
        raise ValueError(f"{location}: missing columns {missing}, unknown columns {unknown}")


def _column(field: pa.Field, values: list[Any], name: str) -> pa.Array:
    many = pa.types.is_list(field.type)
    kind = _TAKES[field.type.value_type if many else field.type]
    for value in values:  # checked here because Arrow would truncate a float to an int64
        if not (isinstance(value, list) and all(isinstance(one, kind) for one in value) if many else isinstance(value, kind)):
            raise ValueError(f"{name}: column {field.name!r} takes {field.type}, got {value!r}")
    return pa.array(values, field.type)


def _refuse_duplicates(table: pa.Table, layout: FileLayout, name: str) -> None:
    counts = table.group_by(list(layout.key)).aggregate([([], "count_all")])
    for row in counts.to_pylist():
        if row.pop("count_all") > 1:
            raise ValueError(f"{name}: two rows share the key {row}")
