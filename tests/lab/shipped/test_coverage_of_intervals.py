"""The stored coverage of intervals is what a simulation gives."""

import numpy as np
import pytest

from lab.shipped.coverage import simulate
from vcgym.leaderboard.statistics.coverage import table


def test_a_simulation_gives_what_is_stored():
    found, stored = simulate(3, 100, rng_seed=1), next(row for row in table() if row.seeds == 3)
    for name in ("plain", "iqm", "mean", "difference"):
        share = getattr(stored, name)
        assert getattr(found, name) == pytest.approx(share, abs=3.5 * np.sqrt(share * (1 - share) / 100))
