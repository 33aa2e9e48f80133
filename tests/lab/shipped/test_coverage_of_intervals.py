"""The stored coverage of intervals is what a simulation gives."""

import numpy as np
import pytest

from lab.shipped.coverage import simulate, simulate_over
from vcgym.leaderboard.statistics.coverage import expected_over, table


def test_a_simulation_gives_what_is_stored():
    found, stored = simulate(3, 100, rng_seed=1), next(row for row in table() if row.seeds == 3)
    for name in ("plain", "iqm", "mean", "difference"):
        share = getattr(stored, name)
        assert getattr(found, name) == pytest.approx(share, abs=3.5 * np.sqrt(share * (1 - share) / 100))


@pytest.mark.parametrize("trace_s", [72.0, 120.0])
def test_overlapping_calls_give_what_is_stored(trace_s):
    """Taken as independent, two of three intervals contain the truth or fewer; as they count, 95 %."""
    found = simulate_over(trace_s, 100, rng_seed=1)
    stored = expected_over(found.calls)
    assert stored.calls == found.calls and stored.independent < 0.7 and stored.mean > 0.94 and stored.false_claims < 0.07
    for name in ("independent", "mean", "slow", "difference"):
        share = getattr(stored, name)
        assert getattr(found, name) == pytest.approx(share, abs=3.5 * np.sqrt(share * (1 - share) / 100) + 0.01)
