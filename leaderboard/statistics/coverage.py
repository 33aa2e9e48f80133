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


class CoverageOver(NamedTuple):
    """Shares of simulated pairs of traces, whose calls are near each other in time.

    Attributes:
        calls: independent calls that they count as (`paired`), on average.
        suites: number of simulated pairs of traces.
        independent: share in which the interval of the mean contains the truth, if all calls are taken as independent.
        mean: the same if they are not; what is measured has a memory of a third of a call.
        slow: the same with a memory of a whole call.
        difference: the same for the difference of two systems' interquartile means, with a memory of a third.
        false_claims: share in which a board of equal systems claims that one is better, with a memory of a third.
    """

    calls: int
    suites: int
    independent: float
    mean: float
    slow: float
    difference: float
    false_claims: float


def expected_over(calls: int) -> CoverageOver:
    """Return the measured row with the largest number of calls up to `calls`, or the first row."""
    rows = tuple(CoverageOver(**row) for row in _content()["measured"])
    return next((row for row in reversed(rows) if row.calls <= calls), rows[0])


def expected(fewest: int) -> Coverage:
    """Return the measured row with the largest number of seeds up to `fewest`, or the first row."""
    rows = table()
    return next((row for row in reversed(rows) if row.seeds <= fewest), rows[0])


def table() -> tuple[Coverage, ...]:
    """Return the rows of `data/coverage.json`, by number of seeds."""
    return tuple(Coverage(**row) for row in _content()["rows"])


@functools.cache
def _content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(importlib.resources.files("vcgym.data").joinpath("coverage.json").read_text(encoding="utf-8"))
    return found
