"""Proportionally fair rates by linear programs: log utility as the minimum of its tangents, refined near the optimum.

Kelley's cutting planes (The cutting-plane method for solving convex programs, SIAM 1960), solved by HiGHS. Every tangent is above the
logarithm, so each program's optimum is an upper bound, and its rates are feasible. The difference bounds their distance from the optimum.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GAP = 1e-7  # in the sum of natural logarithms: a rate is then within 0.05 % of the optimal one
_MAX_ROUNDS = 200
_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_FIRST_TANGENTS = np.geomspace(1e-2, 1e2, 25)  # relative to the minimum limit
_NEAR = np.array([0.97, 0.99, 0.997, 0.999, 0.9997, 1.0, 1.0003, 1.001, 1.003, 1.01, 1.03])  # tangents relative to the current rates


class LogOptimum(NamedTuple):
    """Solution of `maximise_log`: the variables, and the price of each row's limit, d utility / d limit."""

    x: NDArray[np.float64]
    prices: NDArray[np.float64]


def maximise_log(gains: NDArray[np.float64], rows: NDArray[np.float64], limits: NDArray[np.float64]) -> LogOptimum:
    """Return the x that maximises the sum of ln(gains @ x) subject to rows @ x <= limits and x >= 0.

    Args:
        gains: (rates, variables), with a positive number in each row.
        rows: (constraints, variables).
        limits: (constraints,), none negative, at least one positive.

    Raises:
        ValueError: the program has no optimum.
    """
    from scipy.optimize import linprog  # imported here: only these optima need it

    unit = float(limits[limits > 0.0].min())  # numbers near 1 suit the solver's tolerances
    rates, variables = gains.shape
    constraints = np.hstack([rows, np.zeros((len(rows), rates))])
    tangents = np.repeat(_FIRST_TANGENTS[:, None], rates, axis=1)
    objective = np.repeat([0.0, -1.0], [variables, rates])
    bounds = [(0.0, None)] * variables + [(None, None)] * rates
    for _ in range(_MAX_ROUNDS):
        # u <= ln(t) + (r - t) / t for each tangent at t
        slopes = (gains / -tangents[:, :, None]).reshape(-1, variables)
        matrix = np.vstack([constraints, np.hstack([slopes, np.tile(np.eye(rates), (len(tangents), 1))])])
        upper = np.concatenate([limits / unit, np.log(tangents).ravel() - 1.0])
        solved = linprog(objective, matrix, upper, bounds=bounds, method="highs", options=_EXACT)
        if solved.status != 0:
            raise ValueError(f"log program of {rates} rates: {solved.message}"[:300])
        x = solved.x[:variables]
        found = gains @ x
        if found.min() > 0.0 and -solved.fun - np.log(found).sum() <= GAP:
            return LogOptimum(x * unit, -solved.ineqlin.marginals[: len(rows)] / unit)
        tangents = np.vstack([tangents, np.maximum(found, _FIRST_TANGENTS[0] / 10.0) * _NEAR[:, None]])
    raise ValueError(f"log program of {rates} rates: no optimum within {GAP} after {_MAX_ROUNDS} rounds")
