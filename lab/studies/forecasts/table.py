"""The ranks of a study in the terminal: one table per set and holdout, methods by their mean squared error."""

from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

ALL_MODES = "all"  # value of the mode if all rows of a set are tested together

_SHOWN = {"rmse_ms": ("RMSE ms", 1.0), "mae_ms": ("MAE ms", 1.0), "r2": ("R2", 1.0), "within_10_percent": ("within 10 %", 100.0)}


def print_ranks(results: Path, console: Console) -> None:
    """Print the results of a study: mean and standard deviation over seeds."""
    boards: dict[tuple[str, str, str], dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in pq.read_table(results).to_pylist():
        boards[row["rows"], row["holdout"], row["mode"]][row["method"]].append(row)
    kinds = {key[:2]: sum(other[:2] == key[:2] for other in boards) for key in boards}
    for (rows, holdout, mode), methods in boards.items():
        if mode != ALL_MODES and kinds[rows, holdout] == 2:  # the only mode of the set, already shown
            continue
        table = Table(title=f"{rows}, mode {mode}, held out: {holdout}", title_justify="left")
        table.add_column("method")
        for label, _ in _SHOWN.values():
            table.add_column(label, justify="right")
        for method in sorted(methods, key=lambda name: mean(row["rmse_ms"] for row in methods[name])):
            table.add_row(method, *(_spread([row[name] * factor for row in methods[method]]) for name, (_, factor) in _SHOWN.items()))
        console.print(table)


def _spread(values: list[float]) -> str:
    digits = 3 if abs(mean(values)) < 2.0 else 1
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")
