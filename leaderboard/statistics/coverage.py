"""Coverage of the 95 % intervals of `resampling`, as simulated: `data/coverage.json` has the table for 1,500 suites of known truth.

``python -m lab.shipped.coverage`` made it, and says how a suite is simulated.
"""

import functools
import importlib.resources
import json
from typing import Any, NamedTuple


class Coverage(NamedTuple):
    """Shares of simulated suites.

    Attributes:
        seeds: worlds of each kind.
        suites: number of simulated suites.
        plain: share in which the interval of the interquartile mean without the factors contains the truth.
        iqm: the same with the factors.
        mean: the same for the interval of the mean, with the factors.
        difference: the same for the difference of two systems' interquartile means, with the factors.
        false_claims: share in which a board of equal systems claims that one is better.
    """

    seeds: int
    suites: int
    plain: float
    iqm: float
    mean: float
    difference: float
    false_claims: float


def expected(fewest: int) -> Coverage:
    """Return the measured row with the largest number of seeds up to `fewest`, or the first row."""
    rows = table()
    return next((row for row in reversed(rows) if row.seeds <= fewest), rows[0])


@functools.cache
def table() -> tuple[Coverage, ...]:
    """Return the rows of `data/coverage.json`, by number of seeds."""
    counts: dict[str, Any] = json.loads(importlib.resources.files("vcgym.data").joinpath("coverage.json").read_text(encoding="utf-8"))
    return tuple(Coverage(**row) for row in counts["rows"])
