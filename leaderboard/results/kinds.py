"""The columns of each kind of calls, as `columns.yaml` declares them."""

from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from vcgym.leaderboard.results.columns import Column, Columns, DelayLoss


def _load() -> dict[str, Columns]:
    text = files("vcgym.leaderboard.results").joinpath("columns.yaml").read_text(encoding="utf-8")
    declared = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    entries: dict[str, dict[str, Any]] = {}
    for name, entry in declared["kinds"].items():
        entries[name] = entries.get(entry.pop("like", ""), {}) | entry
    return {name: _columns(declared["metrics"], **entry) for name, entry in entries.items()}


def _columns(
    declared: dict[str, dict[str, list[Any]]], metrics: list[str], fronts: list[dict[str, Any]], profile: list[float], footnote: list[str],
    **others: Any,
) -> Columns:  # fmt: skip
    """Return the columns of an entry; a metric of several groups is that of the last one, in the place of the first."""
    values = {name: value for group in metrics for name, value in declared[group].items()}
    low, high, count = profile
    return Columns(
        metrics=tuple(Column(name, *value) for name, value in values.items()),
        fronts=tuple(DelayLoss(**_tuples(front)) for front in fronts),
        profile=np.linspace(low, high, int(count)),
        footnote=" ".join(footnote),
        **_tuples(others),
    )


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


COLUMNS = _load()
CALL, WHOLE, PROTECTED, LINKED, RATE, RMCAT, ORDER = (
    COLUMNS[name] for name in ("call", "whole", "protected", "linked", "rate", "rmcat", "order")
)
