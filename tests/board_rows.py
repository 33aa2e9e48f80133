"""Rows of boards and delay distributions: every column has an example of its type unless a test names its value."""

import pyarrow as pa

EXAMPLES = {"string": "x", "int64": 0, "float64": 0.0, "strings": [], "int64s": []}


def row(columns, **values):
    return {name: EXAMPLES[kind] for name, kind in columns.types.items()} | values


def table_of_r(columns, systems, **same):
    """Results of systems, name -> kind and R in each world, on the same worlds."""
    rows = [
        row(columns, system=name, kind=kind, seed=seed, r=float(r), **same)
        for name, (kind, series) in systems.items()
        for seed, r in enumerate(series)
    ]
    return pa.Table.from_pylist(rows)


def cdf_rows(system, mode, scenario, pair, cdf, accountings):
    """Rows of `cdf.parquet` with one distribution in each accounting."""
    where = {"system": system, "mode": mode, "scenario": scenario, "pair": pair}
    counts = {"packets_sent": cdf.packets_sent, "packets_within": cdf.packets_within.tolist()}
    return [where | {"accounting": accounting} | counts for accounting in accountings]
